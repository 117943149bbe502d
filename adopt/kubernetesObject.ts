/** Which fields a manager set, as the API server records it. */
export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: "FieldsV1";
  readonly fieldsV1: FieldSet;
  readonly subresource?: string;
}

/** Nested keys: `f:<field>`, `k:<keys of a list's item>`, `.` for the map or item itself. */
export interface FieldSet {
  readonly [key: string]: FieldSet;
}

/** Any Kubernetes object, as its JSON. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
    readonly managedFields?: readonly ManagedFieldsEntry[];
  };
  readonly [field: string]: unknown;
}

/** How people name an object, and how `kubectl` takes it: `Deployment/clef-serve`. */
export function titleOf({ kind, metadata }: KubernetesObject): string {
  return `${kind}/${metadata.name}`;
}

/** The part of a Deployment that adoption looks at. */
export interface DeploymentSpec {
  readonly replicas: number;
  readonly strategy?: { readonly type?: string };
  readonly template: {
    readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
    readonly spec: { readonly terminationGracePeriodSeconds?: number };
  };
}

/** An object's spec if it is a Deployment. */
export function deploymentSpec(object: KubernetesObject | undefined): DeploymentSpec | undefined {
  return object?.kind === "Deployment" ? (object.spec as DeploymentSpec) : undefined;
}

/** The part of a Service that adoption looks at. */
export interface ServiceSpec {
  readonly clusterIP?: string;
  readonly selector?: Readonly<Record<string, string>>;
}

/** An object's spec if it is a Service. */
export function serviceSpec(object: KubernetesObject | undefined): ServiceSpec | undefined {
  return object?.kind === "Service" ? (object.spec as ServiceSpec) : undefined;
}

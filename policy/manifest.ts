/** The fields of Kubernetes objects that these policies look at. */
export interface Manifest {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** Of a ConfigMap or Secret. */
  readonly data?: Readonly<Record<string, string>>;
  /** Of a Secret. */
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec?: PodSpec & {
    readonly replicas?: number;
    /** Of a Service: labels. */
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplate } };
  };
}

/** What a workload makes its pods from. */
export interface PodTemplate {
  readonly metadata?: Manifest["metadata"];
  readonly spec?: PodSpec;
}

interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers?: readonly Container[];
}

/** A container of a pod. */
export interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name?: string; readonly value?: string }[];
}

/** The pod template of a workload of any kind; undefined for what makes no pods. */
export function podTemplateOf({ spec }: Manifest): PodTemplate | undefined {
  return spec?.jobTemplate?.spec?.template ?? spec?.template;
}

/** Every container of a workload, or of a pod by itself. */
export function containersOf(manifest: Manifest): readonly Container[] {
  const pod = podTemplateOf(manifest)?.spec ?? manifest.spec;
  return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
}

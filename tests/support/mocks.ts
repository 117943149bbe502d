import * as pulumi from "@pulumi/pulumi";
import type {
  RegisterResourceRequest,
  RegisterResourceResponse,
} from "@pulumi/pulumi/proto/resource_pb.js";
import { MockMonitor } from "@pulumi/pulumi/runtime/mocks.js";
import * as settings from "@pulumi/pulumi/runtime/settings.js";

/** One resource as the program registered it. */
export interface Registered {
  readonly urn: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly options: RegisteredOptions;
  /** URN of the parent; empty for none. */
  readonly parent: string;
  readonly aliases: readonly RegisteredAlias[];
}

/** A name that a resource had before: a whole URN, or what of its URN was different; empty for what was not. */
export type RegisteredAlias =
  | { readonly urn: string }
  | {
      readonly name: string;
      readonly type: string;
      readonly parent: string;
      readonly noParent: boolean;
    };

/** The resource options that a reader of this program cares about; absent where not set. */
export interface RegisteredOptions {
  readonly protect?: true;
  readonly retainOnDelete?: true;
  readonly ignoreChanges?: readonly string[];
  readonly timeouts?: { readonly create: string; readonly update: string };
  readonly dependsOn?: readonly string[];
  readonly provider?: string;
  readonly hooks?: readonly string[];
}

/** What the mocked cluster assigns to every Service. */
export const MOCK_CLUSTER_IP = "10.0.0.10";

/** Pulumi's mock monitor, which keeps the options too: its own mocks see the inputs alone. */
class RecordingMonitor extends MockMonitor {
  readonly registered: Registered[] = [];

  constructor() {
    super({
      newResource: ({ name, type, inputs }) => ({
        id: `${name}-id`,
        state: stateOf(type, inputs as Inputs),
      }),
      call: () => ({}),
    });
  }

  /** Without an answer to this, a resource that has a hook is never registered. */
  registerResourceHook(
    _request: unknown,
    callback: (error: null, response: unknown) => void,
  ): void {
    callback(null, {});
  }

  override async registerResource(
    ...[request, callback]: Parameters<MockMonitor["registerResource"]>
  ): Promise<void> {
    const message = request as RegisterResourceRequest;
    await super.registerResource(
      request,
      (error: unknown, response: RegisterResourceResponse | undefined) => {
        this.registered.push({
          urn: response?.getUrn() ?? "",
          inputs: message.getObject()?.toJavaScript() ?? {},
          options: optionsOf(message),
          parent: message.getParent(),
          aliases: message.getAliasesList().map((alias) => {
            const spec = alias.getSpec();
            if (spec === undefined) return { urn: alias.getUrn() };
            return {
              name: spec.getName(),
              type: spec.getType(),
              parent: spec.getParenturn(),
              noParent: spec.getNoparent(),
            };
          }),
        });
        callback(error, response);
      },
    );
  }
}

/** What the SDK's types leave out. */
interface Internal {
  awaitFeatureSupport(): Promise<void>;
}

type Inputs = Readonly<Record<string, unknown>>;

/**
 * Runs `build` under Pulumi's mocks and returns every resource it registered, sorted by URN. It returns only
 * once each child's URN has resolved.
 * @param stack the stack's name
 */
export async function registered(
  stack: string,
  build: () => void | Promise<void>,
): Promise<Registered[]> {
  const monitor = new RecordingMonitor();
  // setMocks says which features the monitor has; the recording monitor then takes its place.
  await pulumi.runtime.setMocks({ newResource: () => ({ id: "", state: {} }), call: () => ({}) });
  settings.setMockOptions(monitor, "llm-serving", stack, true);
  // That forgets the features again; without them the SDK would drop aliases that are no URN.
  await (settings as unknown as Internal).awaitFeatureSupport();
  await build();
  await pulumi.runtime.disconnect();
  return monitor.registered.sort((a, b) => a.urn.localeCompare(b.urn));
}

function stateOf(type: string, inputs: Inputs): Inputs {
  if (type !== "kubernetes:core/v1:Service") return inputs;
  return { ...inputs, spec: { ...(inputs.spec as Inputs), clusterIP: MOCK_CLUSTER_IP } };
}

function nameOf(urn: string): string {
  return urn.split("::").at(-1) ?? urn;
}

function optionsOf(request: RegisterResourceRequest): RegisteredOptions {
  const timeouts = request.getCustomtimeouts();
  const ignoreChanges = request.getIgnorechangesList();
  const dependsOn = request.getDependenciesList().map(nameOf).sort();
  const hooks = request.getHooks()?.getBeforeDeleteList() ?? [];
  return {
    ...(request.getProtect() ? { protect: true } : {}),
    ...(request.getRetainondelete() ? { retainOnDelete: true } : {}),
    ...(ignoreChanges.length === 0 ? {} : { ignoreChanges }),
    ...(timeouts === undefined || timeouts.getCreate() === ""
      ? {}
      : { timeouts: { create: timeouts.getCreate(), update: timeouts.getUpdate() } }),
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    // A provider reference is its URN, "::" and its id.
    ...(request.getProvider() === ""
      ? {}
      : { provider: nameOf(request.getProvider().split("::").slice(0, -1).join("::")) }),
    ...(hooks.length === 0 ? {} : { hooks }),
  };
}

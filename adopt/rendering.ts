import type { StackConfig } from "../config/types.ts";
import { parseStackConfig } from "../config/parse.ts";
import { AdoptionError, command, type CommandOptions } from "./command.ts";
import { ADOPT, type Imports } from "./imports.ts";
import type { KubernetesObject } from "./kubernetesObject.ts";

/** Which stack, and where its configuration is. */
export interface StackArguments {
  readonly stack: string;
  /** Replaces Pulumi.<stack>.yaml; absolute. */
  readonly configFile?: string | undefined;
}

/** One object as the program renders it. */
export interface RenderedObject {
  /** `<type>::<name>`, as {@link Imports} takes it. */
  readonly key: string;
  readonly importId: string;
  /** Whether the stack's state has it already. */
  readonly managed: boolean;
  readonly object: KubernetesObject;
}

/** What a preview says about a stack. */
export interface Rendering {
  /** The kubeconfig context that the program uses; it has checked that this is the stack's cluster. */
  readonly context: string;
  readonly config: StackConfig;
  readonly objects: readonly RenderedObject[];
  /** URNs that an update would delete or replace. */
  readonly removed: readonly string[];
}

interface State {
  readonly type: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
}

interface Preview {
  readonly config: Readonly<Record<string, string>>;
  readonly steps?: readonly {
    readonly op: string;
    readonly urn: string;
    readonly newState?: State;
  }[];
  readonly diagnostics?: readonly { readonly severity: string; readonly message: string }[];
}

/**
 * Runs the CLI for a stack, with a run's imports.
 * @param imports absent: a plain run, as anybody's
 */
export function pulumi(
  { stack, configFile }: StackArguments,
  args: readonly string[],
  imports?: Imports,
  options: CommandOptions = {},
) {
  const file = configFile === undefined ? [] : ["--config-file", configFile];
  const adopt = imports === undefined ? {} : { [ADOPT]: JSON.stringify(imports) };
  return command("pulumi", [...args, "--stack", stack, "--non-interactive", ...file], {
    ...options,
    env: { ...options.env, ...adopt },
  });
}

/**
 * Renders the program without touching the cluster: a preview whose dry runs are not server-side, because those
 * conflict with kubectl's field managers until the handover.
 * @throws {AdoptionError} with the preview's own message when it fails
 */
export async function render(stack: StackArguments): Promise<Rendering> {
  const env = { PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY: "false" };
  const rendering = await previewed(stack, {}, { env });
  return { ...rendering, objects: rendering.objects.map(withoutProviderLabel) };
}

const PROVIDER_LABEL = "app.kubernetes.io/managed-by";

/** The provider adds a label where it does not apply server-side; `up` never writes it. */
function withoutProviderLabel(rendered: RenderedObject): RenderedObject {
  const { metadata } = rendered.object;
  const labels = Object.entries(metadata.labels ?? {}).filter(([key]) => key !== PROVIDER_LABEL);
  return {
    ...rendered,
    object: { ...rendered.object, metadata: { ...metadata, labels: Object.fromEntries(labels) } },
  };
}

/**
 * The preview of a run with the given imports, server-side as `up` is.
 * @throws {AdoptionError} with the preview's own message when it fails
 */
export async function previewed(
  stack: StackArguments,
  imports: Imports,
  { args = [], ...options }: CommandOptions & { readonly args?: readonly string[] } = {},
): Promise<Rendering> {
  const all = ["preview", "--json", "--show-sames", ...args];
  const outcome = await pulumi(stack, all, imports, options);
  const preview = parsed(outcome.stdout);
  if (outcome.code !== 0 || preview === undefined) {
    const errors = (preview?.diagnostics ?? []).filter(({ severity }) => severity === "error");
    const messages = [...errors.map(({ message }) => message.trim()), outcome.stderr.trim()];
    if (outcome.stderr.includes("no stack named")) {
      messages.push(`make it with \`pulumi stack init ${stack.stack}\`, then plan again`);
    }
    throw new AdoptionError(messages.filter((message) => message !== "").join("\n"));
  }
  const steps = preview.steps ?? [];
  const provider = steps.find(({ newState }) => newState?.type === "pulumi:providers:kubernetes");
  const context = provider?.newState?.inputs?.context;
  if (typeof context !== "string") throw new AdoptionError("the preview names no cluster context");
  return {
    context,
    config: configOf(preview.config, stack.stack),
    objects: objectsOf(steps),
    removed: steps.filter(({ op }) => /delete|replace/.test(op)).map(({ urn }) => urn),
  };
}

function parsed(stdout: string): Preview | undefined {
  try {
    return JSON.parse(stdout) as Preview;
  } catch {
    return undefined;
  }
}

/** An import is two steps on one URN, of which the last has the program's own inputs. */
function objectsOf(steps: NonNullable<Preview["steps"]>): RenderedObject[] {
  const objects = new Map<string, RenderedObject>();
  for (const { op, urn, newState } of steps) {
    if (newState?.type.startsWith("kubernetes:") !== true || newState.inputs === undefined)
      continue;
    const object = newState.inputs as unknown as KubernetesObject;
    const { name, namespace } = object.metadata;
    objects.set(urn, {
      key: `${newState.type}::${urn.slice(urn.lastIndexOf("::") + 2)}`,
      importId: namespace === undefined ? name : `${namespace}/${name}`,
      managed: op !== "create",
      object,
    });
  }
  return [...objects.values()];
}

const PROJECT_PREFIX = "llm-serving:";

/** The preview has accepted this configuration, so that it parses. */
function configOf(texts: Preview["config"], stack: string): StackConfig {
  const own = Object.entries(texts).filter(([key]) => key.startsWith(PROJECT_PREFIX));
  return parseStackConfig(
    Object.fromEntries(
      own.map(([key, text]) => [key.slice(PROJECT_PREFIX.length), JSON.parse(text) as unknown]),
    ),
    stack,
  );
}

/**
 * URNs of operations that a killed run left in the state. The engine keeps those of created objects for ever, also once
 * the object has been imported, and warns at each update.
 * @throws {AdoptionError} when the state cannot be read
 */
export async function pendingOperations(stack: string): Promise<string[]> {
  // Not through `pulumi`: this one command knows no --config-file.
  const { code, stdout, stderr } = await command("pulumi", ["stack", "export", "--stack", stack]);
  if (code !== 0) throw new AdoptionError(stderr.trim());
  const { deployment } = JSON.parse(stdout) as {
    readonly deployment: {
      readonly pending_operations?: readonly { readonly resource: { readonly urn: string } }[];
    };
  };
  return (deployment.pending_operations ?? []).map(({ resource }) => resource.urn);
}

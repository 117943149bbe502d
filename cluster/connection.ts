import { ApiException, KubeConfig, type RequestContext } from "@kubernetes/client-node";
import { ClusterError } from "./facts.ts";

/** How long the cluster may take to answer a request, in milliseconds; all of them run side by side. */
const ANSWER_MS = 5000;

const IS_LAB = "llm-lab";

/**
 * The user's kubeconfig with the stack's context, whatever the ambient one is.
 * @throws {ClusterError} when the kubeconfig cannot be read or has no such context
 */
export function kubeConfigOf(context: string): KubeConfig {
  const kubeConfig = new PromptKubeConfig();
  try {
    kubeConfig.loadFromDefault();
  } catch (error) {
    throw new ClusterError(
      `${kubeConfigPath()}: cannot be read as a kubeconfig: ${causeOf(error)}; ` +
        `set KUBECONFIG to the file that has context ${context}`,
    );
  }
  if (kubeConfig.getContextObject(context) === null) {
    const known = kubeConfig.getContexts().map(({ name }) => name);
    throw new ClusterError(
      `llm-serving:cluster.context = ${context}: ${kubeConfigPath()} has no such context ` +
        `(${known.join(", ")}); set KUBECONFIG to the file that has it` +
        (context === IS_LAB ? ", for the lab: `make lab`, then `. .lab/env`" : ""),
    );
  }
  kubeConfig.setCurrentContext(context);
  return kubeConfig;
}

function kubeConfigPath(): string {
  return process.env.KUBECONFIG ?? "~/.kube/config";
}

type DispatcherArgs = Parameters<KubeConfig["createDispatcherOptions"]>;

/** A kubeconfig whose requests end after 5 s, counted from the login: a person may take longer for that. */
class PromptKubeConfig extends KubeConfig {
  override async applySecurityAuthentication(request: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(request);
    request.setSignal(AbortSignal.timeout(ANSWER_MS));
  }

  /** A connection that is not accepted would outlive its request by another 5 s, and the run with it. */
  override createDispatcherOptions(...args: DispatcherArgs) {
    const options = super.createDispatcherOptions(...args);
    if (options.type !== "agent") return options;
    return { ...options, connect: { ...options.connect, timeout: ANSWER_MS } };
  }
}

/**
 * What the cluster answered.
 * @throws {ClusterError} naming the cause and the next command, when it does not answer or refuses
 */
export async function answered<T>(
  request: Promise<T>,
  context: string,
  server: string,
): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw new ClusterError(
      `llm-serving:cluster.context = ${context}: ${reasonOf(error, context, server)}`,
    );
  }
}

function reasonOf(error: unknown, context: string, server: string): string {
  const attempt = `try \`kubectl --context ${context} get nodes\``;
  if (isStatus(error, 401)) {
    return `the cluster at ${server} does not accept its credentials (401); log in again, then ${attempt}`;
  }
  if (isStatus(error, 403)) {
    return (
      `the cluster at ${server} refuses a read that every run needs: ${causeOf(error)}; ` +
      "grant get and list on nodes and on pods of all namespaces, and get on namespaces"
    );
  }
  return (
    `the cluster at ${server} does not answer: ${causeOf(error)}; ${attempt}` +
    (context === IS_LAB ? " or start the lab again with `make lab`" : "")
  );
}

/** Whether the cluster answered with this HTTP status. */
export function isStatus(error: unknown, code: number): boolean {
  return error instanceof ApiException && error.code === code;
}

/** The innermost cause: a failed fetch says only "fetch failed" itself. */
function causeOf(error: unknown): string {
  if (error instanceof ApiException) return statusMessage(error);
  if (!(error instanceof Error)) return String(error);
  if (/^(Connect)?TimeoutError$/.test(error.name)) return `no answer within ${ANSWER_MS / 1000} s`;
  if (error.cause !== undefined) return causeOf(error.cause);
  return error.message.split("\n")[0] ?? error.name;
}

/** The message of the Status object that an API server answers errors with; a proxy may send anything. */
function statusMessage({ code, body }: ApiException<unknown>): string {
  const message = typeof body === "string" ? /"message":("(?:[^"\\]|\\.)*")/.exec(body)?.[1] : "";
  const text = message === undefined || message === "" ? "" : String(JSON.parse(message));
  return text === "" ? `HTTP status ${code}` : `${text} (${code})`;
}

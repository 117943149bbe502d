import { NAMESPACE } from "../components/names.ts";
import { AdoptionError, command } from "./command.ts";
import type { KubernetesObject, ManagedFieldsEntry } from "./kubernetesObject.ts";
import { OUR_MANAGER } from "./managers.ts";
import type { Autoscaler } from "./refusals.ts";

/** The cluster of one kubeconfig context, through the caller's own kubectl. Every method throws {@link AdoptionError}. */
export class Cluster {
  readonly #context: string;

  constructor(context: string) {
    this.#context = context;
  }

  /** The live objects of the given ones; those that do not exist are absent. */
  async read(objects: readonly KubernetesObject[]): Promise<KubernetesObject[]> {
    const list = { apiVersion: "v1", kind: "List", items: objects };
    const args = ["get", "--filename=-", "--ignore-not-found", "--show-managed-fields", "-o=json"];
    const text = await this.#kubectl(args, JSON.stringify(list));
    if (text.trim() === "") return [];
    const found = JSON.parse(text) as KubernetesObject & { readonly items?: KubernetesObject[] };
    return found.kind === "List" ? (found.items ?? []) : [found];
  }

  /** Autoscalers of the namespace. */
  async autoscalers(): Promise<Autoscaler[]> {
    const text = await this.#kubectl(["get", "hpa", `--namespace=${NAMESPACE}`, "-o=json"]);
    return (JSON.parse(text) as { readonly items: Autoscaler[] }).items;
  }

  /** What the server would make of an object that replaces the live one, defaults and admission included. */
  async replaced(object: KubernetesObject): Promise<KubernetesObject> {
    return this.#answer(["replace", "--dry-run=server", "--filename=-", "-o=json"], object);
  }

  /** Whether the server would take an object that does not exist yet. */
  async created(object: KubernetesObject): Promise<KubernetesObject> {
    return this.#answer(["create", "--dry-run=server", "--filename=-", "-o=json"], object);
  }

  /** What the server would make of the program's apply. */
  async applied(object: KubernetesObject): Promise<KubernetesObject> {
    const mode = ["--server-side", "--dry-run=server", `--field-manager=${OUR_MANAGER}`];
    return this.#answer(["apply", ...mode, "--filename=-", "-o=json"], object);
  }

  /** Says anew who owns an object's fields. Refused by the server if the object has changed since it was read. */
  async handOver(live: KubernetesObject, managedFields: readonly ManagedFieldsEntry[]) {
    const { name, namespace = "", resourceVersion } = live.metadata;
    const patch = [
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "replace", path: "/metadata/managedFields", value: managedFields },
    ];
    const target = [live.kind, name, `--namespace=${namespace}`];
    await this.#kubectl(["patch", ...target, "--type=json", `--patch=${JSON.stringify(patch)}`]);
  }

  /** Pods of a Deployment by their label `app`, by name. */
  async podUids(app: string): Promise<string[]> {
    const args = ["get", "pods", `--namespace=${NAMESPACE}`, `--selector=app=${app}`, "-o=json"];
    const { items } = JSON.parse(await this.#kubectl(args)) as {
      readonly items: readonly KubernetesObject[];
    };
    const bound = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return bound.flatMap(({ metadata: { uid } }) => (uid === undefined ? [] : [uid])).sort();
  }

  async #answer(args: readonly string[], object: KubernetesObject): Promise<KubernetesObject> {
    return JSON.parse(await this.#kubectl(args, JSON.stringify(object))) as KubernetesObject;
  }

  async #kubectl(args: readonly string[], input = ""): Promise<string> {
    const all = [`--context=${this.#context}`, ...args];
    const { code, stdout, stderr } = await command("kubectl", all, { input });
    if (code === 0) return stdout;
    throw new AdoptionError(`kubectl ${args.slice(0, 2).join(" ")}: ${stderr.trim()}`);
  }
}

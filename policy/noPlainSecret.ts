import type { ResourceValidationPolicy } from "@pulumi/policy";
import { isSecretName, isSecretValue } from "../config/secrets.ts";
import { known } from "./known.ts";
import { type Container, containersOf, type Manifest } from "./manifest.ts";

/** A value with the field that holds it. */
type Field = readonly [path: string, value: string];

/**
 * No credential in what the program makes: it would stand in the state, in previews and in the cluster for everyone who
 * may read a Deployment. The stack file is checked by the program (config/secrets.ts); this holds for its code as well.
 */
export const noPlainSecret: ResourceValidationPolicy = {
  name: "no-plain-secret",
  description: "No object holds a credential in plain text.",
  validateResource: known(({ type, props }, report) => {
    if (!type.startsWith("kubernetes:")) return;
    const manifest: Manifest = props;
    const refuse = (path: string, wrong: string): void => {
      report(
        `${path} = (hidden): ${wrong} (a reference to a Secret that somebody else made); remove it, and revoke it if ` +
          "it was committed",
      );
    };
    if (type === "kubernetes:core/v1:Secret") {
      for (const [path] of [
        ...fieldsOf("data", manifest.data),
        ...fieldsOf("stringData", manifest.stringData),
      ]) {
        refuse(path, "a Secret's content would stand in the state");
      }
      return;
    }
    for (const [path, value] of [
      ...fieldsOf("metadata.annotations", manifest.metadata?.annotations),
      ...fieldsOf("data", manifest.data),
      ...containersOf(manifest).flatMap(textsOf),
    ]) {
      if (isSecretValue(value)) refuse(path, "looks like a credential");
    }
    for (const { name = "", env = [] } of containersOf(manifest)) {
      for (const variable of env) {
        // A value of its own, not a reference.
        if (variable.value === undefined || variable.value === "") continue;
        if (isSecretName(variable.name ?? "")) {
          refuse(`container ${name}: env ${variable.name ?? ""}`, "the name is a secret's");
        }
      }
    }
  }),
};

function fieldsOf(path: string, map: Readonly<Record<string, string>> | undefined): Field[] {
  return Object.entries(map ?? {}).map(([key, value]) => [`${path}.${key}`, value]);
}

function textsOf({ name = "", command = [], args = [], env = [] }: Container): Field[] {
  return [
    ...[...command, ...args].map((text, at): Field => [`container ${name}: argument ${at}`, text]),
    ...env.map((variable): Field => [
      `container ${name}: env ${variable.name ?? ""}`,
      variable.value ?? "",
    ]),
  ];
}

import { MONITORING_API } from "../../components/names.ts";
import type { Lab } from "../../lab/lab.ts";
import { apply, kubectl } from "./lab.ts";

/**
 * Gives a lab the kinds PrometheusRule and PodMonitor, whose objects may hold anything: the real operator brings a
 * megabyte of schemas.
 */
export async function installMonitoringCrds(lab: Lab): Promise<void> {
  const { group, version } = MONITORING_API;
  const definitions = ["PrometheusRule", "PodMonitor"].map((kind) => {
    const singular = kind.toLowerCase();
    const plural = `${singular}s`;
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { kind, singular, plural, listKind: `${kind}List` },
        versions: [
          { name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } },
        ],
      },
    };
  });
  await apply(lab, definitions);
  const names = definitions.map(({ metadata }) => `crd/${metadata.name}`);
  await kubectl(lab, "wait", "--for=condition=established", "--timeout=20s", ...names);
}

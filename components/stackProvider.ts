import { Provider } from "@pulumi/kubernetes/provider.js";

/**
 * The one explicit provider, on the context that the stack names.
 * @param context a context of the kubeconfig that KUBECONFIG or ~/.kube/config holds
 */
export function stackProvider(context: string): Provider {
  return new Provider(
    "cluster",
    {
      context,
      // A constant: by default a changed kubeconfig is another cluster, and everything would be replaced.
      clusterIdentifier: "llm-serving",
    },
    {
      // The SDK fills in KUBECONFIG, a path of one person's machine, which would differ for the next one. The
      // provider's process reads the same variable by itself.
      transformations: [
        ({ props, opts }) => ({
          props: Object.fromEntries(Object.entries(props).filter(([key]) => key !== "kubeconfig")),
          opts,
        }),
      ],
    },
  );
}

// What the lab and the image build run, pinned. One row per binary; everything else here is derived from this table.

/** A binary that the lab and the program's own preview need. */
export type LabTool =
  | "pulumi"
  | "pulumi-resource-kubernetes"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kubectl"
  | "etcd"
  | "kwok"
  | "kwokctl";

/**
 * Built when a command asks for it: what pushes an image (regctl), a registry server to try it on, and what judges
 * workflow files (actionlint) and alert rules (promtool).
 */
export const toolsOnDemand = ["regctl", "registry", "actionlint", "promtool"] as const;
export type ToolOnDemand = (typeof toolsOnDemand)[number];

export type BinaryName = LabTool | ToolOnDemand;

/** How one binary is recognised when it is installed, and built when it is not. */
export interface Pin {
  /** Semantic version without a leading v. */
  readonly version: string;
  /** Whether a later version than the pin fits too. Only the CLI promises that to its programs. */
  readonly laterFits: boolean;
  /** Arguments that make the binary print its version; empty where it has no such option. */
  readonly askVersion: readonly string[];
  /** Folder under lab/toolchain/ with the go.mod that pins the sources. */
  readonly module: string;
  /** Go package that is built, from inside that folder. */
  readonly package: string;
  /** Variables set by the linker, beside `-s -w`. */
  readonly variables: Readonly<Record<string, string>>;
  /** Build tags, separated by commas. */
  readonly tags?: string;
}

/** Version of Kubernetes' four binaries. */
const kubernetesVersion = "1.36.3";
/** Also the version of @pulumi/kubernetes in package.json: another one warns at every run. */
const providerVersion = "4.25.0";
const pulumiVersion = "3.274.1";
/** Of Prometheus 3; its Go module calls it v0.316.0. */
const promtoolVersion = "3.16.0";
const kwokVersion = "0.8.0";

function kubernetes(command: string, askVersion: readonly string[] = ["--version"]): Pin {
  const [major, minor] = kubernetesVersion.split(".");
  const variable = "k8s.io/component-base/version";
  return {
    version: kubernetesVersion,
    laterFits: false,
    askVersion,
    module: "kubernetes",
    package: `k8s.io/kubernetes/cmd/${command}`,
    variables: {
      [`${variable}.gitVersion`]: `v${kubernetesVersion}`,
      [`${variable}.gitMajor`]: major ?? "",
      [`${variable}.gitMinor`]: minor ?? "",
      [`${variable}.gitTreeState`]: "clean",
    },
  };
}

function kwok(command: string): Pin {
  return {
    version: kwokVersion,
    laterFits: false,
    askVersion: ["--version"],
    module: "kwok",
    package: `sigs.k8s.io/kwok/cmd/${command}`,
    variables: { "sigs.k8s.io/kwok/pkg/consts.Version": `v${kwokVersion}` },
  };
}

/** Every binary, in the order in which they are built. */
export const pins: Readonly<Record<BinaryName, Pin>> = {
  pulumi: {
    version: pulumiVersion,
    laterFits: true,
    askVersion: ["version"],
    module: "pulumi",
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    variables: {
      "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version": `v${pulumiVersion}`,
    },
  },
  "pulumi-resource-kubernetes": {
    version: providerVersion,
    laterFits: false,
    // The plugin prints no version; the plugins folder that holds it carries it in its name.
    askVersion: [],
    module: "provider",
    package: ".",
    variables: {
      "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version": providerVersion,
    },
  },
  "kube-apiserver": kubernetes("kube-apiserver"),
  "kube-controller-manager": kubernetes("kube-controller-manager"),
  "kube-scheduler": kubernetes("kube-scheduler"),
  kubectl: kubernetes("kubectl", ["version", "--client"]),
  etcd: {
    version: "3.6.16",
    laterFits: false,
    askVersion: ["--version"],
    module: "etcd",
    package: "go.etcd.io/etcd/server/v3",
    variables: {},
  },
  kwok: kwok("kwok"),
  kwokctl: kwok("kwokctl"),
  regctl: {
    version: "0.11.7",
    laterFits: false,
    askVersion: ["version"],
    module: "regctl",
    package: "github.com/regclient/regclient/cmd/regctl",
    variables: {},
  },
  registry: {
    version: "3.1.2",
    laterFits: false,
    askVersion: ["--version"],
    module: "registry",
    package: "github.com/distribution/distribution/v3/cmd/registry",
    variables: {},
  },
  actionlint: {
    version: "1.7.12",
    laterFits: false,
    askVersion: ["-version"],
    module: "actionlint",
    package: "github.com/rhysd/actionlint/cmd/actionlint",
    variables: {},
  },
  promtool: {
    version: promtoolVersion,
    laterFits: false,
    askVersion: ["--version"],
    module: "promtool",
    package: "github.com/prometheus/prometheus/cmd/promtool",
    variables: { "github.com/prometheus/common/version.Version": promtoolVersion },
    // Without the clients of every cloud that Prometheus can discover targets in: half the build time.
    tags: "remove_all_sd",
  },
};

/** The names of the table, in its order. */
export const binaryNames = Object.keys(pins) as BinaryName[];

/** What `make up` needs, in the order in which it is built. */
export const labTools = binaryNames.filter(
  (name): name is LabTool => !toolsOnDemand.some((other) => other === name),
);

/** Folder name that the CLI expects for the provider under PULUMI_HOME/plugins. */
export const providerPluginFolder = `resource-kubernetes-v${providerVersion}`;

/** Go module that holds the two files which the provider's main package embeds. */
export const providerModule = "github.com/pulumi/pulumi-kubernetes/provider/v4";

/** Arguments of `go build` for one binary, without its output file. */
export function buildArguments(pin: Pin): readonly string[] {
  const variables = Object.entries(pin.variables).map(([name, value]) => `-X ${name}=${value}`);
  // -mod=readonly overrides a -mod in the user's GOFLAGS; -trimpath makes the result the same in every clone.
  return [
    "build",
    "-v",
    "-mod=readonly",
    "-trimpath",
    "-buildvcs=false",
    ...(pin.tags === undefined ? [] : ["-tags", pin.tags]),
    "-ldflags",
    ["-s", "-w", ...variables].join(" "),
    pin.package,
  ];
}

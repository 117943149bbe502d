// The Kubernetes provider's plugin. The published module does not carry the two generated files that its
// own main package embeds, so this main reads their sources from the module's folder, copied beside it
// by the build (see lab/toolchain.ts), and serves the same provider.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed generated/schema.json
var schema []byte

//go:embed generated/terraform-mapping.json
var terraformMapping []byte

func main() {
	provider.Serve("kubernetes", version.Version, schema, terraformMapping)
}

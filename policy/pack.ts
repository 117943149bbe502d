import { PolicyPack } from "@pulumi/policy";
import { digests } from "./digests.ts";
import { neverUnprotected } from "./neverUnprotected.ts";
import { noPlainSecret } from "./noPlainSecret.ts";
import { oneCoderPredictor } from "./oneCoderPredictor.ts";
import { oneWorkloadPerService } from "./oneWorkloadPerService.ts";

// What must hold whoever edits the program: the pack looks at what the program would make, never at how. All of it is
// mandatory: a violation fails the preview.
new PolicyPack("llm-serving", {
  enforcementLevel: "mandatory",
  policies: [neverUnprotected, oneCoderPredictor, oneWorkloadPerService, digests, noPlainSecret],
});

import type { PolicyEvent } from "@pulumi/pulumi/automation/events.js";
import { nameOf } from "./resourceChange.ts";

/** Whether a policy stops the update. */
export function isMandatory({ enforcementLevel }: PolicyEvent): boolean {
  return enforcementLevel === "mandatory";
}

/** One line of a policy's finding. */
export function describePolicy({
  policyName,
  policyPackName,
  message,
  resourceUrn,
}: PolicyEvent): string {
  const subject = resourceUrn === undefined ? "" : ` on ${nameOf(resourceUrn)}`;
  // The pack's description of the policy stands above the finding itself.
  const finding = message.trim().split("\n").at(-1) ?? "";
  return `policy ${policyPackName}/${policyName}${subject}: ${finding}`;
}

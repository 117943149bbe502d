import * as z from "zod";
import { PROJECT, stackSchema } from "../config/schema.ts";

/**
 * JSON Schema of a whole `Pulumi.<stack>.yaml`. The keys of this program are complete and closed;
 * those of other programs and of the CLI stay open. Rules between values are the preview's.
 *
 * @returns draft 7, the one that yaml-language-server knows best
 */
export function stackFileSchema(): object {
  const { properties = {}, required = [] } = z.toJSONSchema(stackSchema, {
    io: "input", // what a person writes: values with defaults may be absent
    target: "draft-7",
  });
  const names = Object.keys(properties);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: `A stack of ${PROJECT}`,
    type: "object",
    properties: {
      config: {
        description: "Configuration of the stack, each key as <namespace>:<name>.",
        type: "object",
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, schema]) => [`${PROJECT}:${name}`, schema]),
        ),
        patternProperties: { [`^${PROJECT}:(?!(${names.join("|")})$)`]: false },
        required: required.map((name) => `${PROJECT}:${name}`),
      },
      encryptionsalt: { description: "Written by the CLI.", type: "string" },
      secretsprovider: { description: "Who encrypts this stack's secrets.", type: "string" },
      encryptedkey: { description: "Written by the CLI.", type: "string" },
    },
    required: ["config"],
  };
}

/** Why an image is not in the registry, for a person: what is wrong and what to do. */
export class PublishError extends Error {
  override readonly name = "PublishError";
}

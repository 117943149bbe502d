// Builds and pushes clef-serve's image with the Docker engine (docs/image.md). Apart from the program of the namespace:
// the Docker provider asks for an engine as soon as it is configured, in a preview too, and no review needs one.
import * as pulumi from "@pulumi/pulumi";
import { ClefServeImage } from "../../components/clefServeImage.ts";
import { contentTag } from "./contentTag.ts";

const repository = new pulumi.Config("llm-serving-image").require("repository");
const folder = "../clef-serve";
const image = new ClefServeImage("clef-serve", {
  repository,
  folder,
  tag: contentTag(new URL(`${folder}/`, import.meta.url)),
});

/** For `pulumi config set --path llm-serving:clefServe.image` of a stack. */
export const clefServeImage = image.reference;

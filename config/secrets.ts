/**
 * Recognises values that must never stand in a stack file. Both tests err on the side of refusing:
 * a token in a Deployment's environment ends up in the state, in every preview and in the cluster.
 */

/** Stands for a value that may be a secret. */
export const HIDDEN = "(hidden)";

const SECRET_WORD =
  /(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CREDENTIALS|APIKEY|BEARER)$/;
const SECRET_PAIR = /\b(API|ACCESS|PRIVATE|SECRET|AUTH|SIGNING|ENCRYPTION|LICENSE) KEYS?\b/;

/** What makes "token" a unit of text: MAX_TOKENS, EOS_TOKEN, TOKEN_LIMIT, KV_KIB_PER_TOKEN. */
const TEXT_TOKEN_BEFORE = /^(MAX|MIN|NUM|PER|EOS|BOS|PAD|UNK|MASK|STOP|SPECIAL|DISABLE|IMPLICIT)$/;
const NAME_OF_ELSEWHERE = /^(PATH|FILE|DIR|LIMIT|LENGTH|LEN|SIZE|COUNT|BUDGET|ID|TYPE|NAME)$/;

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toUpperCase()
    .split(/[^A-Z0-9]+/)
    .filter((word) => word !== "");
}

/** Whether a variable or key of this name usually holds a secret, such as HF_TOKEN or apiKey. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name.slice(0, 256));
  if (NAME_OF_ELSEWHERE.test(words.at(-1) ?? "")) return false;
  return (
    SECRET_PAIR.test(words.join(" ")) ||
    words.some((word, at) => SECRET_WORD.test(word) && !TEXT_TOKEN_BEFORE.test(words[at - 1] ?? ""))
  );
}

/** Shapes of well-known credentials; each is specific enough not to match a path or an image. */
export const SECRET_VALUES: readonly RegExp[] = [
  /\bhf_(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{8,}/, // Hugging Face
  /\bhf_[A-Za-z]{20,}/,
  /\b(sk|pk|rk)-[\w-]{16,}/, // OpenAI, Anthropic and alike
  /\b(ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}/,
  /\bgl(pat|dt|rt)-[\w-]{16,}/, // GitLab
  /\bxox[abprs]-[\w-]{10,}/, // Slack
  /\b(AKIA|ASIA)[A-Z0-9]{16}\b/, // AWS
  /\bnvapi-[\w-]{16,}|\bdckr_pat_[\w-]{16,}|\bpul-[0-9a-f]{32,}/,
  /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}/, // JSON web token
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /:\/\/[^\s/:@]*:[^\s/@]+@/, // a URL with a password
];

/** Whether a text has the shape of a credential. Only the first 10,000 characters are looked at. */
export function isSecretValue(text: string): boolean {
  const head = text.slice(0, 10_000);
  return SECRET_VALUES.some((shape) => shape.test(head));
}

/** The text with what stands for a password hidden: `user:(hidden)@host`. A digest behind the @ is none. */
export function withoutPassword(text: string): string {
  return text.replace(/^([^:@/]*):.+@(?!sha[0-9]+:)/s, `$1:${HIDDEN}@`);
}

/** A comment below a change, as much of it as matters here. */
interface Comment {
  readonly id: number;
  readonly body: string;
}

/** Where a comment goes, and by whose right. */
export interface ForgeTarget {
  /** Base of the REST API: that of GitHub, or of Gitea and Forgejo, which have the same paths for comments. */
  readonly api: string;
  /** owner/name. */
  readonly repository: string;
  /** Number of the change (pull request). */
  readonly change: number;
  /** May write comments. */
  readonly token: string;
}

/** Milliseconds that one request may take. */
const TIMEOUT_MS = 20_000;

/**
 * Writes a comment below a change, or replaces the one that it wrote before: the comment whose first line is the same.
 * @param body its first line is its key
 * @throws Error naming the request and the answer, never the token
 */
export async function stickyComment(
  target: ForgeTarget,
  body: string,
): Promise<"written" | "replaced"> {
  const { api, repository, change } = target;
  const comments = `${api}/repos/${repository}/issues/${change}/comments`;
  const key = firstLine(body);
  let page: string | undefined = `${comments}?per_page=100`;
  while (page !== undefined) {
    const response = await asked(target, "GET", page);
    const found = (await commentsIn(response, page)).find(({ body }) => firstLine(body) === key);
    if (found !== undefined) {
      await asked(target, "PATCH", `${api}/repos/${repository}/issues/comments/${found.id}`, body);
      return "replaced";
    }
    page = nextPage(response.headers.get("link"));
  }
  await asked(target, "POST", comments, body);
  return "written";
}

async function commentsIn(response: Response, url: string): Promise<readonly Comment[]> {
  const list: unknown = await response.json().catch(() => undefined);
  if (Array.isArray(list)) return list as readonly Comment[];
  throw new Error(
    `GET ${url}: the answer is no list of comments; look whether GITHUB_API_URL is the address of the forge's API`,
  );
}

/** Browsers and forges end lines in either way. */
function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.trim() ?? "";
}

/** URL of the next page by a Link header; a forge that has no pages sends none. */
function nextPage(link: string | null): string | undefined {
  return /<([^>]+)>\s*;\s*rel="next"/.exec(link ?? "")?.[1];
}

async function asked(
  { token }: ForgeTarget,
  method: "GET" | "POST" | "PATCH",
  url: string,
  body?: string,
): Promise<Response> {
  const answer = fetch(url, {
    method,
    headers: {
      // "token" and "Bearer" are the same to GitHub; older Gitea knows the former alone.
      Authorization: `token ${token}`,
      Accept: "application/json",
      "Content-Type": "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify({ body }) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const response = await answer.catch((error: unknown) => {
    throw new Error(
      `${method} ${url}: no answer of the forge: ${reasonOf(error)}; look whether GITHUB_API_URL is right and this ` +
        "runner reaches it, then run the job again",
    );
  });
  if (response.ok) return response;
  const right =
    response.status === 401 || response.status === 403 || response.status === 404
      ? "; the job's token needs the right to write comments (permissions: pull-requests: write)"
      : "";
  throw new Error(`${method} ${url}: the forge answers ${response.status}${right}`);
}

/** fetch itself says "fetch failed" alone; why stands in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `none within ${TIMEOUT_MS / 1000} s`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  // Of a name with several addresses there is a code alone.
  return cause.message === "" && "code" in cause ? String(cause.code) : cause.message;
}

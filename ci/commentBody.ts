/** Most characters of a comment: GitHub refuses 65,537. */
const LIMIT = 65_000;

/** What a comment is made of. */
export interface CommentParts {
  /** The review, which begins with the comment's key. */
  readonly report: string;
  /** What the rehearsal showed, where there was one. */
  readonly rehearsal: string | undefined;
  /** Where the run's pictures can be fetched. */
  readonly runUrl: string;
}

/** The review and the rehearsal as one comment. What does not fit is the rehearsal first: its verdict fails the job anyway. */
export function commentBody({ report, rehearsal, runUrl }: CommentParts): string {
  const review = withoutPictures(report.trimEnd(), runUrl);
  const footer = `\n\n[The run, with its pictures](${runUrl})\n`;
  if (rehearsal === undefined) return `${review}${footer}`;
  const all = `${review}\n\n${withoutPictures(rehearsal.trim(), runUrl)}${footer}`;
  if (all.length <= LIMIT) return all;
  return `${review}\n\nThe rehearsal's report is too long for a comment; it is in the run.${footer}`;
}

/** A comment cannot show a file of the run: the picture's title links to the run instead. */
function withoutPictures(markdown: string, runUrl: string): string {
  return markdown.replace(/!\[([^\]]*)\]\((?![a-z]+:)[^)]*\)/g, `[$1](${runUrl})`);
}

/** Texts of others, made fit to stand in a line of ours. Pure. */

/** Controls, bidirectional overrides and characters of no width: what would hide or turn its neighbours. */

const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** On one line, without what disturbs; "(no name)" for what cannot be seen. */
export function tidy(text: string, most = 200): string {
  const clean = text
    .normalize('NFC')
    .replace(UNSEEN, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const seen = clean === '' ? '(no name)' : clean;
  return seen.length <= most ? seen : `${seen.slice(0, most - 1)}…`;
}

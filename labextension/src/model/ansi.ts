/** Terminal colours as runs of text with class names (those of JupyterLab's own outputs). Pure; makes no HTML. */

export interface IRun {
  text: string;
  classes: string;
}

const ESCAPE =
  /\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const COLOURS = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white'
];

interface IPen {
  fg: string;
  bg: string;
  bold: boolean;
  underline: boolean;
}

const PLAIN: IPen = { fg: '', bg: '', bold: false, underline: false };

/** The runs of one line, and the pen with which the next line begins. */
export function runs(
  line: string,
  pen: IPen = PLAIN
): { runs: IRun[]; pen: IPen } {
  const found: IRun[] = [];
  let at = 0;
  const push = (text: string): void => {
    if (text !== '') {
      found.push({ text, classes: classes(pen) });
    }
  };
  for (const match of line.matchAll(ESCAPE)) {
    push(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') {
      pen = drawn(pen, (match[1] ?? '').split(';').map(Number));
    }
  }
  push(line.slice(at));
  return { runs: found, pen };
}

function classes(pen: IPen): string {
  return [
    pen.fg === '' ? '' : `ansi-${pen.fg}-fg`,
    pen.bg === '' ? '' : `ansi-${pen.bg}-bg`,
    pen.bold ? 'ansi-bold' : '',
    pen.underline ? 'ansi-underline' : ''
  ]
    .filter(Boolean)
    .join(' ');
}

function drawn(pen: IPen, codes: readonly number[]): IPen {
  let next = pen;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 38 || code === 48) {
      // Colours out of 256 or 16 million have no class; skip their numbers.
      i += codes[i + 1] === 5 ? 2 : 4;
    } else {
      next = one(next, code);
    }
  }
  return next;
}

function one(pen: IPen, code: number): IPen {
  if (code === 0) {
    return PLAIN;
  }
  if (code === 1 || code === 22) {
    return { ...pen, bold: code === 1 };
  }
  if (code === 4 || code === 24) {
    return { ...pen, underline: code === 4 };
  }
  const range = Math.floor(code / 10);
  const colour = COLOURS[code % 10] ?? '';
  switch (range) {
    case 3:
      return { ...pen, fg: colour };
    case 4:
      return { ...pen, bg: colour };
    case 9:
      return { ...pen, fg: colour && `${colour}-intense` };
    case 10:
      return { ...pen, bg: colour && `${colour}-intense` };
    default:
      return pen;
  }
}

/** Text as it stands on a terminal afterwards: what a carriage return overwrote is gone. */
export function settled(line: string): string {
  if (!line.includes('\r')) {
    return line;
  }
  let shown = '';
  for (const part of line.split('\r')) {
    shown = part + shown.slice(part.length);
  }
  return shown;
}

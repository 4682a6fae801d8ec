/** The %%gpujob line of a cell: read, changed, written back. Pure. What it does not know, it leaves where it is. */

export const MAGIC = '%%gpujob';

export interface IWanted {
  gpus: number;
  /** "" asks for nothing */
  gpuMemory: string;
  time: string;
  priority: string;
  name: string;
}

export const PLAIN: IWanted = {
  gpus: 1,
  gpuMemory: '',
  time: '',
  priority: 'normal',
  name: ''
};

const WORDS: Record<string, keyof IWanted> = {
  '--gpus': 'gpus',
  '--gpu-mem': 'gpuMemory',
  '--time': 'time',
  '--priority': 'priority',
  '--name': 'name'
};

/** The words of a line as a shell would see them; an open quote reaches to the end. */
export function split(line: string): string[] {
  const found: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i] ?? '';
    if (quote !== '') {
      if (c === quote) {
        quote = '';
      } else if (
        c === '\\' &&
        quote === '"' &&
        '"\\'.includes(line[i + 1] ?? ' ')
      ) {
        word = (word ?? '') + (line[++i] ?? '');
      } else {
        word = (word ?? '') + c;
      }
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= '';
    } else if (/\s/.test(c)) {
      if (word !== null) {
        found.push(word);
      }
      word = null;
    } else if (c === '\\' && i + 1 < line.length) {
      word = (word ?? '') + (line[++i] ?? '');
    } else {
      word = (word ?? '') + c;
    }
  }
  return word === null ? found : [...found, word];
}

/** A word as a shell reads it back. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word)
    ? word
    : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** The first line that is not empty, if it is ours. */
export function isJobCell(source: string): boolean {
  return /^\s*%%gpujob(?:\s|$)/.test(source);
}

function parts(source: string): { options: string; body: string } {
  if (!isJobCell(source)) {
    return { options: '', body: source };
  }
  const [first = '', ...rest] = source.trimStart().split('\n');
  return { options: first.slice(MAGIC.length), body: rest.join('\n') };
}

/** What a cell asks for already, and the other words of its line. */
export function read(source: string): { wanted: IWanted; rest: string[] } {
  const wanted: IWanted = { ...PLAIN };
  const rest: string[] = [];
  const words = split(parts(source).options);
  while (words.length > 0) {
    const whole = words.shift() ?? '';
    const equals = whole.indexOf('=');
    const word = equals < 0 ? whole : whole.slice(0, equals);
    const field = WORDS[word];
    if (field === undefined) {
      rest.push(whole);
      continue;
    }
    const value = equals < 0 ? (words.shift() ?? '') : whole.slice(equals + 1);
    if (field === 'gpus') {
      wanted.gpus = Number.parseInt(value, 10) || 1;
    } else {
      wanted[field] = value;
    }
  }
  return { wanted, rest };
}

/** The options that ask for this. */
export function options(wanted: IWanted, rest: readonly string[] = []): string {
  const said = [`--gpus ${wanted.gpus}`];
  const add = (word: string, value: string): void => {
    if (value.trim() !== '') {
      said.push(`${word} ${quoted(value.trim())}`);
    }
  };
  add('--gpu-mem', wanted.gpuMemory);
  add('--time', wanted.time);
  add('--priority', wanted.priority === 'normal' ? '' : wanted.priority);
  add('--name', wanted.name);
  return [...said, ...rest.map(quoted)].join(' ');
}

/** The cell with this line in its place. */
export function write(source: string, wanted: IWanted): string {
  const { body } = parts(source);
  return `${MAGIC} ${options(wanted, read(source).rest)}\n${body}`;
}

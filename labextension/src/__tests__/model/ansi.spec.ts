import { runs, settled } from '../../model/ansi';

describe('terminal text', () => {
  it('becomes runs with the classes of JupyterLab', () => {
    expect(runs('a \x1b[1;31mred\x1b[0m b').runs).toEqual([
      { text: 'a ', classes: '' },
      { text: 'red', classes: 'ansi-red-fg ansi-bold' },
      { text: ' b', classes: '' }
    ]);
  });

  it('goes on in the next line as it ended in this one', () => {
    const { pen } = runs('\x1b[92mgreen');
    expect(runs('still', pen).runs).toEqual([
      { text: 'still', classes: 'ansi-green-intense-fg' }
    ]);
  });

  it('loses sequences that move cursors, set titles or name one of 256 colours', () => {
    expect(
      runs('\x1b]0;title\x07a\x1b[2Kb\x1b[38;5;196mc')
        .runs.map(r => r.text)
        .join('')
    ).toBe('abc');
  });

  it('keeps markup as text', () => {
    expect(runs('<img onerror=x>').runs).toEqual([
      { text: '<img onerror=x>', classes: '' }
    ]);
  });

  it('forgets what a carriage return overwrote', () => {
    expect(settled('10%\r20%\r100%')).toBe('100%');
    expect(settled('abcdef\rxy')).toBe('xycdef');
  });
});

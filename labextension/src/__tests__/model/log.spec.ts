import type { Outputs } from '../../api/schema';
import { Log, MOST_LINES } from '../../model/log';

const piece = (text: string, over: Partial<Outputs> = {}): Outputs => ({
  type: 'outputs',
  job: 1,
  attempt: 1,
  start: 0,
  end: 1,
  ops: [{ op: 'stream', name: 'stdout', text }],
  ended: false,
  ...over
});

describe('a log', () => {
  it('joins lines that were cut between two pieces', () => {
    const log = new Log();
    log.take(piece('one\ntw'));
    expect(log.open).toBe('tw');
    log.take(piece('o\nthree\n'));
    expect(log.lines.map(line => line.text)).toEqual(['one', 'two', 'three']);
    expect(log.lines.map(line => line.number)).toEqual([1, 2, 3]);
  });

  it('keeps a progress bar apart from what is printed meanwhile', () => {
    const log = new Log();
    const bar = (text: string): Outputs =>
      piece('', { ops: [{ op: 'stream', name: 'stderr', text }] });
    log.take(bar('\r10%'));
    log.take(bar('\r20%'));
    log.take(piece('step 2\n'));
    log.take(bar('\r30%'));
    expect(log.lines.map(line => line.text)).toEqual(['20%', 'step 2']);
    expect(log.open).toBe('30%');
  });

  it('carries a colour from line to line', () => {
    const log = new Log();
    log.take(piece('\x1b[31mred\nstill\x1b[0m\nplain\n'));
    expect(log.lines.map(line => line.runs[0]?.classes)).toEqual([
      'ansi-red-fg',
      'ansi-red-fg',
      ''
    ]);
  });

  it('shows what a progress bar shows at its end', () => {
    const log = new Log();
    log.take(piece('\r10%\r50%'));
    expect(log.open).toBe('50%');
    log.take(piece('\r100%\n'));
    expect(log.lines[0]?.text).toBe('100%');
  });

  it('keeps the newest lines and counts the others', () => {
    const log = new Log();
    log.take(piece('x\n'.repeat(MOST_LINES * 2)));
    expect(log.lines).toHaveLength(MOST_LINES);
    expect(log.dropped).toBe(MOST_LINES);
  });

  it('tells errors by their traceback and displays by their text', () => {
    const log = new Log();
    log.take(
      piece('', {
        ops: [
          {
            op: 'output',
            output: {
              output_type: 'error',
              ename: 'E',
              evalue: 'v',
              traceback: ['a', 'b']
            }
          },
          {
            op: 'output',
            output: {
              output_type: 'display_data',
              data: { 'text/plain': ['<Fig', 'ure>'] }
            }
          }
        ],
        ended: true
      })
    );
    expect(log.lines.map(line => line.text)).toEqual(['a', 'b', '<Figure>']);
    expect(log.hasEnded).toBe(true);
  });
});

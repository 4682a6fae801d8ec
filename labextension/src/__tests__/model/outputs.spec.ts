import type * as nbformat from '@jupyterlab/nbformat';

import { type IOutputs, OutputWriter } from '../../model/outputs';

/** An output area that joins streams as Lab's does. */
class Area implements IOutputs {
  list: nbformat.IOutput[] = [];
  get length(): number {
    return this.list.length;
  }
  add(output: nbformat.IOutput): number {
    const last = this.list.at(-1);
    if (
      last?.output_type === 'stream' &&
      output.output_type === 'stream' &&
      last['name'] === output['name']
    ) {
      last['text'] = String(last['text']) + String(output['text']);
    } else {
      this.list.push({ ...output });
    }
    return this.list.length;
  }
  set(index: number, output: nbformat.IOutput): void {
    this.list[index] = output;
  }
  fromJSON(outputs: nbformat.IOutput[]): void {
    this.list = [];
    outputs.forEach(output => this.add(output));
  }
  toJSON(): nbformat.IOutput[] {
    return this.list;
  }
}

const card = { output_type: 'display_data', data: { card: 1 }, metadata: {} };
const shown = {
  output_type: 'display_data',
  data: { 'text/plain': 'a' },
  metadata: {}
};
const stream = (text: string): { op: string; name: string; text: string } => ({
  op: 'stream',
  name: 'stdout',
  text
});

describe('a job written into its cell', () => {
  it('stands behind the card, from a snapshot and from what follows', () => {
    const area = new Area();
    const writer = new OutputWriter(area, [card]);
    writer.replace([stream('one\n')], false);
    writer.apply([stream('two\n')]);
    expect(area.list).toEqual([
      card,
      { output_type: 'stream', name: 'stdout', text: 'one\ntwo\n' }
    ]);
  });

  it('keeps the card when the job clears its output', () => {
    const area = new Area();
    const writer = new OutputWriter(area, [card]);
    writer.replace([stream('one')], false);
    writer.apply([{ op: 'clear' }]);
    expect(area.list).toEqual([card]);
  });

  it('waits with a clear until something follows', () => {
    const area = new Area();
    const writer = new OutputWriter(area, [card]);
    writer.replace([stream('one')], false);
    writer.apply([{ op: 'clear', wait: true }]);
    expect(area.list).toHaveLength(2);
    writer.apply([stream('two')]);
    expect(area.list[1]).toMatchObject({ text: 'two' });
    writer.replace([stream('three')], true);
    writer.apply([stream('four')]);
    expect(area.list[1]).toMatchObject({ text: 'four' });
  });

  it('updates a display by its id, whether it came with the snapshot or later', () => {
    const area = new Area();
    const writer = new OutputWriter(area, [card]);
    writer.replace([{ op: 'output', output: shown, display_id: 'x' }], false);
    writer.apply([{ op: 'output', output: shown, display_id: 'y' }]);
    const output = { ...shown, data: { 'text/plain': 'b' } };
    writer.apply([
      { op: 'update', output, display_id: 'x' },
      { op: 'update', output, display_id: 'y' }
    ]);
    expect(area.list.slice(1).map(o => o['data'])).toEqual([
      { 'text/plain': 'b' },
      { 'text/plain': 'b' }
    ]);
  });

  it('shows none of our own notes and questions', () => {
    const area = new Area();
    const writer = new OutputWriter(area, []);
    writer.apply([
      { op: 'note', text: 'n' },
      { op: 'input', text: '?' }
    ]);
    expect(area.list).toEqual([]);
  });
});

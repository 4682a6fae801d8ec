import * as line from '../../model/line';

describe('the line of a cell', () => {
  it('is written before a cell that has none', () => {
    expect(
      line.write('x = 1\n', { ...line.PLAIN, time: '2h', name: 'my net' })
    ).toBe("%%gpujob --gpus 1 --time 2h --name 'my net'\nx = 1\n");
  });

  it('is replaced where there is one, and keeps the options it does not know', () => {
    const source = '%%gpujob --gpus=2 --after 12 --name a --wait\ntrain()';
    const { wanted, rest } = line.read(source);
    expect(wanted).toEqual({ ...line.PLAIN, gpus: 2, name: 'a' });
    expect(rest).toEqual(['--after', '12', '--wait']);
    expect(line.write(source, { ...wanted, gpus: 4 })).toBe(
      '%%gpujob --gpus 4 --name a --after 12 --wait\ntrain()'
    );
  });

  it.each(["it's", 'a "b"', '$(rm -rf /)', '<img onerror=x>', 'a\\b', 'ü 漢'])(
    'carries the name %s',
    name => {
      const source = line.write('pass', { ...line.PLAIN, name });
      expect(line.read(source).wanted.name).toBe(name);
      expect(source.split('\n')).toHaveLength(2);
    }
  );

  it('knows a job cell from others', () => {
    expect(line.isJobCell('\n%%gpujob\nx')).toBe(true);
    expect(line.isJobCell('%%gpujobs\nx')).toBe(false);
    expect(line.isJobCell('# %%gpujob\nx')).toBe(false);
  });
});

import { idsOf } from '../../model/args';

describe('the jobs that a command is about', () => {
  it('are those named, else those chosen', () => {
    expect(idsOf({ jobs: [3, '4'] }, [7])).toEqual([3, 4]);
    expect(idsOf({}, [7])).toEqual([7]);
  });
});

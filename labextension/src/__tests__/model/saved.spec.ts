import { savedJob, savedLoss } from '../../model/saved';

describe('what was saved with a card', () => {
  it('is a whole job, also where an old card says less', () => {
    const job = savedJob({ id: 7, name: 'resnet', state: 'running' });
    expect([job.name, job.state, job.priority]).toEqual([
      'resnet',
      'running',
      'normal'
    ]);
    expect(savedJob({ id: 7 }).state).toBe('pending');
  });

  it('has the loss, or the first other metric, and says NaN', () => {
    expect(savedLoss({ id: 7, metrics: { step: 3, acc: 0.5 } })).toMatchObject({
      name: 'acc',
      value: 0.5
    });
    expect(
      savedLoss({ id: 7, metrics: { acc: 0.5, loss: 'nan' } })
    ).toMatchObject({
      name: 'loss',
      value: null,
      mark: 'nan'
    });
    expect(savedLoss({ id: 7 })).toBeUndefined();
  });
});

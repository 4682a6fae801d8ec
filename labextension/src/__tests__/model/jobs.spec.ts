import type { ApiClient } from '../../api/client';
import type { ActionAsk, Change, Refresh } from '../../api/schema';
import { EventStream, type ISocket } from '../../api/stream';
import { JobsModel } from '../../model/jobs';
import { aJob } from '../records';

/** A page whose server is this test. */
function aPage(): {
  model: JobsModel;
  says: (message: Refresh | Change) => void;
  asked: ActionAsk[];
} {
  const asked: ActionAsk[] = [];
  const socket: ISocket = {
    onopen: null,
    onmessage: null,
    onclose: null,
    send: () => undefined,
    close: () => undefined
  };
  const client = {
    act: (ask: ActionAsk) => {
      asked.push(ask);
      return Promise.resolve([]);
    }
  } as unknown as ApiClient;
  const stream = new EventStream({ open: () => socket });
  return {
    model: new JobsModel({ client, stream }),
    asked,
    says: message => {
      socket.onmessage?.({
        data: JSON.stringify(message)
      } as MessageEvent<string>);
    }
  };
}

const refresh = (over: Partial<Refresh> = {}): Refresh => ({
  type: 'refresh',
  epoch: 'e',
  seq: 1,
  daemon: null,
  down: '',
  may_start: true,
  me: 'ann',
  jobs: [],
  gpus: [],
  losses: [],
  older: 0,
  ...over
});

describe('the model', () => {
  it('tells of a job that changed, with what it was before', () => {
    const { model, says } = aPage();
    const heard: string[] = [];
    model.jobChanged.connect((_, change) => {
      heard.push(`${change.before?.state ?? 'new'} -> ${change.job.state}`);
    });
    says(refresh({ jobs: [aJob()] }));
    says({
      type: 'change',
      seq: 2,
      since: 1,
      jobs: [aJob({ state: 'running' })]
    });
    says({ type: 'change', seq: 3, since: 2, jobs: [aJob({ id: 2 })] });
    expect(heard).toEqual(['pending -> running', 'new -> pending']);
  });

  it('tells of nothing when a refresh brings what was there', () => {
    const { model, says } = aPage();
    let count = 0;
    model.jobChanged.connect(() => {
      count += 1;
    });
    says(refresh({ jobs: [aJob()] }));
    says(refresh({ jobs: [aJob()], seq: 9 }));
    expect(count).toBe(0);
  });

  it('moves each job to the class beside its own', async () => {
    const { model, asked } = aPage();
    await model.act('raise', [
      aJob({ id: 1, priority: 'low' }),
      aJob({ id: 2, priority: 'normal' })
    ]);
    expect(asked).toEqual([
      { verb: 'priority', jobs: [1], priority: 'normal' },
      { verb: 'priority', jobs: [2], priority: 'high' }
    ]);
  });

  it('keeps a minute of readings of each GPU, gaps included', () => {
    const { model, says } = aPage();
    const gpu = {
      id: 'G',
      node: 'n',
      index: 0,
      label: 'GPU 0',
      name: 'H',
      kind: 'gpu'
    };
    says(refresh({ gpus: [gpu] }));
    for (let i = 1; i < 100; i++) {
      says({
        type: 'change',
        seq: i + 1,
        since: i,
        gpus: [{ ...gpu, utilization_percent: i }]
      });
    }
    expect(model.readings('G')).toHaveLength(30);
    expect(model.readings('G').at(-1)).toBe(99);
  });
});

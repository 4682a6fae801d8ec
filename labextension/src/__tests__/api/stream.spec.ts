import type { Outputs } from '../../api/schema';
import { EventStream, type ISocket } from '../../api/stream';

class Socket implements ISocket {
  onopen: ISocket['onopen'] = null;
  onmessage: ISocket['onmessage'] = null;
  onclose: ISocket['onclose'] = null;
  sent: unknown[] = [];
  constructor(readonly query: string) {}
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.onclose?.(null as unknown as CloseEvent);
  }
  opened(): void {
    this.onopen?.(null as unknown as Event);
  }
  says(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) } as MessageEvent<string>);
  }
}

function aStream(): {
  stream: EventStream;
  sockets: Socket[];
  waits: number[];
  tick: () => void;
  heard: number[];
} {
  const sockets: Socket[] = [];
  const waits: number[] = [];
  let next: (() => void) | null = null;
  const stream = new EventStream({
    open: query => {
      const socket = new Socket(query);
      sockets.push(socket);
      return socket;
    },
    later: (callback, ms) => {
      waits.push(ms);
      next = callback;
      return () => {
        next = null;
      };
    }
  });
  const heard: number[] = [];
  stream.message.connect((_, message) => heard.push(message.seq));
  return {
    stream,
    sockets,
    waits,
    heard,
    tick: () => {
      next?.();
    }
  };
}

const refresh = {
  type: 'refresh',
  epoch: 'e',
  seq: 5,
  jobs: [],
  gpus: [],
  losses: []
};
const outputs = (
  start: number,
  end: number,
  over: Partial<Outputs> = {}
): Outputs => ({
  type: 'outputs',
  job: 1,
  attempt: 1,
  start,
  end,
  ops: [],
  ended: false,
  ...over
});

describe('the stream', () => {
  it('resumes after a cut where it was', () => {
    const { sockets, tick, heard } = aStream();
    sockets[0]?.opened();
    sockets[0]?.says(refresh);
    sockets[0]?.says({ type: 'change', seq: 6, since: 5 });
    sockets[0]?.close();
    tick();
    expect(sockets[1]?.query).toBe('?epoch=e&seq=6');
    sockets[1]?.says({ type: 'change', seq: 9, since: 6 });
    expect(heard).toEqual([5, 6, 9]);
  });

  it('starts afresh when something was missed', () => {
    const { sockets, tick, heard } = aStream();
    sockets[0]?.opened();
    sockets[0]?.says(refresh);
    sockets[0]?.says({ type: 'change', seq: 9, since: 8 });
    tick();
    expect(sockets[1]?.query).toBe('');
    expect(heard).toEqual([5]);
  });

  it('waits longer with each try, and not at all when it is hurried', () => {
    const { stream, sockets, waits, tick } = aStream();
    sockets[0]?.close();
    tick();
    sockets[1]?.close();
    tick();
    sockets[2]?.close();
    expect(waits).toEqual([300, 600, 1200]);
    stream.hurry();
    expect(sockets).toHaveLength(4);
  });

  it('hands over each byte of a job once, also across a cut', () => {
    const { stream, sockets, tick } = aStream();
    sockets[0]?.opened();
    const ends: number[] = [];
    stream.follow(1, 1, 0, piece => ends.push(piece.end));
    sockets[0]?.says(outputs(0, 10));
    sockets[0]?.close();
    tick();
    sockets[1]?.opened();
    expect(sockets[1]?.sent).toEqual([
      { type: 'follow', job: 1, attempt: 1, start: 10 }
    ]);
    sockets[1]?.says(outputs(0, 10));
    sockets[1]?.says(outputs(10, 30, { ended: true }));
    sockets[1]?.says(outputs(30, 40));
    expect(ends).toEqual([10, 30]);
  });

  it('says when it no longer wants a job', () => {
    const { stream, sockets } = aStream();
    sockets[0]?.opened();
    const following = stream.follow(1, 1, 0, () => undefined);
    following.dispose();
    expect(sockets[0]?.sent.at(-1)).toEqual({ type: 'unfollow', job: 1 });
    expect(following.isDisposed).toBe(true);
  });

  it('does not come back after it was disposed of', () => {
    const { stream, sockets, tick } = aStream();
    sockets[0]?.opened();
    stream.dispose();
    tick();
    expect(sockets).toHaveLength(1);
  });
});

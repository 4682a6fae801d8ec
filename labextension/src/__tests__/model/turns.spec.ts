import { type IAwareness, Turns } from '../../model/turns';

/** What all pages of one document know of each other. */
class Room {
  readonly states = new Map<number, Record<string, unknown>>();
  readonly heard = new Set<(change: { added: number[] }) => void>();

  enter(clientID: number): IAwareness {
    const { states, heard } = this;
    return {
      clientID,
      getStates: () => states,
      setLocalStateField: (field, value) => {
        const added = states.has(clientID) ? [] : [clientID];
        states.set(clientID, { ...states.get(clientID), [field]: value });
        heard.forEach(hear => {
          hear({ added });
        });
      },
      on: (_, hear) => heard.add(hear),
      off: (_, hear) => heard.delete(hear)
    };
  }
}

const nothing = (): void => undefined;

describe('the turn to write a job', () => {
  it('is that of a page alone, and of one without a shared document', () => {
    expect(new Turns(null, nothing).isMine(7, 'c')).toBe(true);
    const alone = new Turns(new Room().enter(5), nothing);
    expect(alone.isMine(7, 'c')).toBe(true);
  });

  it('is nobody’s while a kernel connection writes the cell', () => {
    const room = new Room();
    const one = new Turns(room.enter(5), nothing);
    const two = new Turns(room.enter(9), nothing);
    two.cells = ['c'];
    expect([one.isMine(7, 'c'), one.isMine(8, 'd')]).toEqual([false, true]);
    two.cells = [];
    expect(one.isMine(7, 'c')).toBe(true);
  });

  it('stays with who has begun, and comes back when that page goes', () => {
    const room = new Room();
    const two = new Turns(room.enter(9), nothing);
    two.begin(7);
    const one = new Turns(room.enter(5), nothing);
    expect([one.isMine(7, 'c'), two.isMine(7, 'c')]).toEqual([false, true]);
    expect([one.isMine(8, 'c'), two.isMine(8, 'c')]).toEqual([true, false]);
    two.end(7);
    expect(one.isMine(7, 'c')).toBe(true);
    two.begin(7);
    room.states.delete(9);
    expect(one.isMine(7, 'c')).toBe(true);
  });

  it('goes to the smaller number if two began at once', () => {
    const room = new Room();
    const one = new Turns(room.enter(5), nothing);
    const two = new Turns(room.enter(9), nothing);
    one.begin(7);
    two.begin(7);
    expect([one.isMine(7, 'c'), two.isMine(7, 'c')]).toEqual([true, false]);
  });

  it('is asked again when another page tells something', () => {
    const room = new Room();
    let times = 0;
    const one = new Turns(room.enter(5), () => {
      times += 1;
    });
    const other = new Turns(room.enter(9), nothing);
    other.begin(7);
    expect(times).toBeGreaterThan(1);
    one.dispose();
    times = 0;
    other.end(7);
    expect(times).toBe(0);
  });

  it('is told again to a page that comes later and has heard nothing', () => {
    const room = new Room();
    const one = new Turns(room.enter(9), nothing);
    one.cells = ['c'];
    const told = room.states.get(9);
    room.states.delete(9);
    const late = new Turns(room.enter(5), nothing);
    expect(late.isMine(7, 'c')).toBe(false);
    expect(room.states.get(9)).toEqual(told);
  });

  it('ignores pages that have no such extension', () => {
    const room = new Room();
    room.states.set(1, { user: { name: 'ann' } });
    const one = new Turns(room.enter(5), nothing);
    expect(one.isMine(7, 'c')).toBe(true);
  });
});

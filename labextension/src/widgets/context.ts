/** What our React parts need of Lab: texts and commands. Passed down once, so that each part takes only what it shows. */

import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import * as React from 'react';

import { ENGLISH, type ITexts } from '../model/format';

export interface ILab {
  texts: ITexts;
  execute: (command: string, args?: ReadonlyPartialJSONObject) => void;
}

const LabContext = React.createContext<ILab>({
  texts: ENGLISH,
  execute: () => undefined
});

export const LabProvider = LabContext.Provider;

export function useLab(): ILab {
  return React.useContext(LabContext);
}

/** The lab of an application; a command that is refused tells its reason itself. */
export function labOf(commands: CommandRegistry, texts: ITexts): ILab {
  return {
    texts,
    execute: (command, args) => {
      commands.execute(command, args).catch((reason: unknown) => {
        console.warn(`jupysched: ${command}`, reason);
      });
    }
  };
}

type Seer = (now: Date) => void;

/** One clock for all who look: it turns for them at the same moment, and not at all while nobody can see the page. */
const clock = {
  seers: new Set<Seer>(),
  timer: undefined as ReturnType<typeof setInterval> | undefined,
  turn: (): void => {
    if (!document.hidden) {
      const now = new Date();
      clock.seers.forEach(see => {
        see(now);
      });
    }
  },
  add: (see: Seer): (() => void) => {
    if (clock.seers.size === 0) {
      clock.timer = setInterval(clock.turn, 1000);
      document.addEventListener('visibilitychange', clock.turn);
    }
    clock.seers.add(see);
    return () => {
      clock.seers.delete(see);
      if (clock.seers.size === 0) {
        clearInterval(clock.timer);
        document.removeEventListener('visibilitychange', clock.turn);
      }
    };
  }
};

/** The present moment; anew every second as long as `isTurning`. */
export function useNow(isTurning: boolean): Date {
  const [now, setNow] = React.useState(() => new Date());
  React.useEffect(
    () => (isTurning ? clock.add(setNow) : undefined),
    [isTurning]
  );
  return now;
}

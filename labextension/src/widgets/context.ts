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

/** The present moment, anew every `ms` while somebody can see it. */
export function useNow(ms: number): Date {
  const [now, setNow] = React.useState(() => new Date());
  React.useEffect(() => {
    const id = setInterval(() => {
      if (!document.hidden) {
        setNow(new Date());
      }
    }, ms);
    return () => {
      clearInterval(id);
    };
  }, [ms]);
  return now;
}

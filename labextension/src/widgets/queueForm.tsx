/** The form of 'Queue on GPU…': writes the options, and says by a dry run what would become of the job. */

import type { Dialog } from '@jupyterlab/apputils';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { clock, ordinal } from '../model/format';
import { type JobsModel, sentence } from '../model/jobs';
import { type IWanted, MAGIC, options } from '../model/line';
import { PRIORITIES } from '../model/states';
import { type ILab, LabProvider, useLab } from './context';

const CHECK_MS = 350;

export class QueueForm
  extends ReactWidget
  implements Dialog.IBodyWidget<IWanted>
{
  constructor(
    private readonly _options: {
      model: JobsModel;
      lab: ILab;
      wanted: IWanted;
      rest: readonly string[];
    }
  ) {
    super();
    this._wanted = _options.wanted;
    this.addClass('jp-jupysched-form-host');
  }

  getValue(): IWanted {
    return this._wanted;
  }

  protected override render(): React.JSX.Element {
    const { model, lab, rest } = this._options;
    return (
      <LabProvider value={lab}>
        <Form
          model={model}
          first={this._wanted}
          rest={rest}
          onChange={wanted => {
            this._wanted = wanted;
          }}
        />
      </LabProvider>
    );
  }

  private _wanted: IWanted;
}

interface IFormProps {
  model: JobsModel;
  first: IWanted;
  rest: readonly string[];
  onChange: (wanted: IWanted) => void;
}

// What is typed is React's own state: through the widget's update() it would come back a frame later, with the caret at
// the end of the field and what was typed within the frame lost.
function Form(props: IFormProps): React.JSX.Element {
  const { texts } = useLab();
  const { model, first, rest, onChange } = props;
  const [wanted, setWanted] = React.useState(first);
  // As typed: a field that is empty for a moment is no 1 yet.
  const [gpus, setGpus] = React.useState(String(first.gpus));
  const change = (part: Partial<IWanted>): void => {
    const next = { ...wanted, ...part };
    setWanted(next);
    onChange(next);
  };
  const line = options(wanted, rest);
  const id = React.useId();
  const field = (
    name: keyof IWanted,
    label: string,
    hint: string,
    over: React.InputHTMLAttributes<HTMLInputElement> = {}
  ): React.JSX.Element => (
    <>
      <label htmlFor={`${id}-${name}`}>{label}</label>
      <span>
        <input
          id={`${id}-${name}`}
          name={name}
          className="jp-jupysched-input"
          type="text"
          value={wanted[name]}
          aria-describedby={hint === '' ? undefined : `${id}-${name}-hint`}
          onChange={event => {
            change({ [name]: event.target.value });
          }}
          {...over}
        />
        {hint !== '' && (
          <small id={`${id}-${name}-hint`} className="jp-jupysched-soft">
            {hint}
          </small>
        )}
      </span>
    </>
  );
  return (
    <div className="jp-jupysched-form">
      {field('gpus', texts.__('GPUs'), '', {
        type: 'number',
        min: 1,
        step: 1,
        value: gpus,
        onChange: event => {
          setGpus(event.target.value);
          change({
            gpus: Math.max(1, Number.parseInt(event.target.value, 10) || 1)
          });
        }
      })}
      {field(
        'gpuMemory',
        texts.__('Memory'),
        texts.__('of each GPU, such as 24G; empty asks for the whole GPU')
      )}
      {field(
        'time',
        texts.__('Time'),
        texts.__('it is stopped after this: 30m, 2h, 1h30m')
      )}
      <label htmlFor={`${id}-priority`}>{texts.__('Priority')}</label>
      <select
        id={`${id}-priority`}
        name="priority"
        className="jp-jupysched-input"
        value={wanted.priority}
        onChange={event => {
          change({ priority: event.target.value });
        }}
      >
        {PRIORITIES.map(priority => (
          <option key={priority} value={priority}>
            {
              {
                low: texts.__('low'),
                normal: texts.__('normal'),
                high: texts.__('high')
              }[priority]
            }
          </option>
        ))}
      </select>
      {field('name', texts.__('Name'), '', {
        placeholder: texts.__('the cell’s number')
      })}
      <code className="jp-jupysched-form-line">
        {MAGIC} {line}
      </code>
      <Verdict model={model} line={line} />
    </div>
  );
}

/** How the daemon says of a waiting job that nothing keeps it. */
const NOW = 'starts now';

/** What the queue says of these options. */
function Verdict(props: { model: JobsModel; line: string }): React.JSX.Element {
  const { texts } = useLab();
  const { model, line } = props;
  const [said, setSaid] = React.useState({ text: '', isRefused: false });
  React.useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => {
      model.dryRun(line).then(
        job => {
          if (!isOver) {
            if (job.why.startsWith(NOW)) {
              setSaid({
                text: texts.__('It would start now.'),
                isRefused: false
              });
              return;
            }
            const place =
              job.position === null
                ? ''
                : texts.__(
                    'It would be %1 in the queue.',
                    ordinal(job.position)
                  );
            const start =
              job.expected_start_at === null
                ? ''
                : texts.__(
                    'It should start about %1.',
                    clock(job.expected_start_at, new Date())
                  );
            const why =
              job.position !== null && job.position > 1 && job.why !== ''
                ? `${job.why}.`
                : '';
            setSaid({
              text: [place, start, why].filter(Boolean).join(' '),
              isRefused: false
            });
          }
        },
        (reason: unknown) => {
          if (!isOver) {
            setSaid({ text: sentence(reason), isRefused: true });
          }
        }
      );
    }, CHECK_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [model, line, texts]);
  return (
    <p
      className={`jp-jupysched-verdict ${said.isRefused ? 'jp-mod-refused' : ''}`}
      role="status"
    >
      {said.text || '\u00a0'}
    </p>
  );
}

/** The sidebar: who is there, the GPUs, the jobs; and what to do when there is nothing yet, or no daemon. */

import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';

import { CommandIDs, DOMAIN } from '../ids';
import { gpuIcon } from '../icons';
import type { JobsModel } from '../model/jobs';
import type { SidebarModel } from '../model/sidebar';
import { Chosen } from './chosen';
import { type ILab, LabProvider, useLab } from './context';
import { GpuStrip } from './gpuStrip';
import { JobList } from './jobList';

export class Sidebar extends ReactWidget {
  constructor(
    private readonly _options: {
      model: JobsModel;
      sidebar: SidebarModel;
      lab: ILab;
    }
  ) {
    super();
    this.id = DOMAIN;
    this.addClass('jp-jupysched-sidebar');
    this.title.icon = gpuIcon;
    this.title.caption = _options.lab.texts.__('GPU queue');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', _options.lab.texts.__('GPU queue'));
  }

  protected override render(): React.JSX.Element {
    const { model, sidebar, lab } = this._options;
    return (
      <LabProvider value={lab}>
        <UseSignal signal={model.changed}>
          {() => (
            <UseSignal signal={sidebar.changed}>
              {() => <Body model={model} sidebar={sidebar} />}
            </UseSignal>
          )}
        </UseSignal>
      </LabProvider>
    );
  }
}

interface IBodyProps {
  model: JobsModel;
  sidebar: SidebarModel;
}

function Body(props: IBodyProps): React.JSX.Element {
  const { texts, execute } = useLab();
  const { model, sidebar } = props;
  const { view } = model;
  return (
    <>
      <header className="jp-jupysched-header">
        <div className="jp-jupysched-grow">
          <h2>{texts.__('GPU queue')}</h2>
          <Summary model={model} />
        </div>
        <button
          type="button"
          className="jp-jupysched-button"
          title={texts.__('Queue the current cell as a GPU job')}
          onClick={() => {
            execute(CommandIDs.queueCell);
          }}
        >
          {texts.__('+ Queue cell')}
        </button>
      </header>
      <Trouble model={model} />
      <GpuStrip
        model={model}
        onChoose={job => {
          sidebar.choose(job);
        }}
      />
      <Panels />
      {view.isKnown && view.jobs.size > 0 ? (
        <>
          <Filter sidebar={sidebar} />
          <Chosen model={model} sidebar={sidebar} />
          <JobList model={model} sidebar={sidebar} />
        </>
      ) : (
        view.isKnown && view.down === '' && <FirstUse />
      )}
    </>
  );
}

function Summary(props: { model: JobsModel }): React.JSX.Element {
  const { texts } = useLab();
  const { view } = props.model;
  const busy = view.gpus.filter(gpu => gpu.jobs.length > 0).length;
  let waiting = 0;
  for (const job of view.jobs.values()) {
    waiting += job.state === 'pending' ? 1 : 0;
  }
  return (
    <span className="jp-jupysched-soft jp-jupysched-summary">
      {view.gpus.length > 0 && view.down === ''
        ? texts.__('%1/%2 busy · %3 waiting', busy, view.gpus.length, waiting)
        : ''}
    </span>
  );
}

/** One sentence when something is away, and what can be done about it. */
function Trouble(props: { model: JobsModel }): React.JSX.Element | null {
  const { texts, execute } = useLab();
  const { model } = props;
  const { view } = model;
  if (!model.isConnected) {
    return (
      <div className="jp-jupysched-trouble" role="status">
        {view.isKnown
          ? texts.__(
              'The Jupyter server does not answer; what stands here may be old.'
            )
          : texts.__('Waiting for the Jupyter server …')}
      </div>
    );
  }
  if (view.down !== '') {
    return (
      <div className="jp-jupysched-trouble" role="status">
        <span>
          {view.down}{' '}
          {view.mayStart
            ? texts.__('It starts with the first %1, or now:', '%%gpujob')
            : texts.__('An admin starts it; this page will notice.')}
        </span>
        {view.mayStart && (
          <button
            type="button"
            className="jp-jupysched-button"
            onClick={() => {
              execute(CommandIDs.startDaemon);
            }}
          >
            {texts.__('Start it')}
          </button>
        )}
      </div>
    );
  }
  const notices = view.daemon?.notices ?? [];
  return notices.length === 0 ? null : (
    <div className="jp-jupysched-trouble" role="status">
      {notices.join(' ')}
    </div>
  );
}

function Panels(): React.JSX.Element {
  const { texts, execute } = useLab();
  const panels = [
    [texts.__('Utilization'), CommandIDs.openUtilization],
    [texts.__('Loss'), CommandIDs.openLoss],
    [texts.__('Queue'), CommandIDs.openQueue],
    [texts.__('Usage'), CommandIDs.openUsage]
  ] as const;
  return (
    <nav className="jp-jupysched-panels" aria-label={texts.__('Panels')}>
      {panels.map(([label, command]) => (
        <button
          key={command}
          type="button"
          className="jp-jupysched-link"
          onClick={() => {
            execute(command);
          }}
        >
          {label}
        </button>
      ))}
    </nav>
  );
}

function Filter(props: { sidebar: SidebarModel }): React.JSX.Element {
  const { texts } = useLab();
  const { sidebar } = props;
  // React's own state beside the model's: what comes back through the widget's update() is a frame late, and the caret jumps.
  const [text, setText] = React.useState(sidebar.text);
  const whose = (isMineOnly: boolean, label: string): React.JSX.Element => (
    <button
      type="button"
      className="jp-jupysched-button"
      aria-pressed={sidebar.isMineOnly === isMineOnly}
      onClick={() => {
        sidebar.isMineOnly = isMineOnly;
      }}
    >
      {label}
    </button>
  );
  return (
    <div className="jp-jupysched-filter" role="search">
      <input
        type="search"
        className="jp-jupysched-input"
        placeholder={texts.__('Search')}
        aria-label={texts.__('Search jobs by name, user or state')}
        value={text}
        onChange={event => {
          setText(event.target.value);
          sidebar.text = event.target.value;
        }}
      />
      <span
        className="jp-jupysched-switch"
        role="group"
        aria-label={texts.__('Whose jobs')}
      >
        {whose(true, texts.__('mine'))}
        {whose(false, texts.__('all'))}
      </span>
    </div>
  );
}

/** Code, in every language. */
const FIRST_CELL = '%%gpujob --gpus 1\nmodel = train(model)';

function FirstUse(): React.JSX.Element {
  const { texts, execute } = useLab();
  return (
    <section className="jp-jupysched-first" aria-label={texts.__('First job')}>
      <p>{texts.__('No job yet. A cell becomes one with a line above it:')}</p>
      <pre>
        <code>{FIRST_CELL}</code>
      </pre>
      <p className="jp-jupysched-soft">
        {texts.__(
          'It returns at once, waits its turn for a GPU, shows its output under the cell as it comes, and brings back what it changed.'
        )}
      </p>
      <button
        type="button"
        className="jp-jupysched-button jp-mod-main"
        onClick={() => {
          execute(CommandIDs.insertExample);
        }}
      >
        {texts.__('Insert an example')}
      </button>
    </section>
  );
}

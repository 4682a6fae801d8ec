/** All that is known of one job: what was asked for, its attempts, cell, environment and files. */

import * as React from 'react';

import type { AttemptRecord, DetailRecord, JobRecord } from '../api/schema';
import { clock, duration, limit, requested, size } from '../model/format';
import { type JobsModel, sentence } from '../model/jobs';
import { tidy } from '../model/text';
import { useLab } from './context';

export function JobDetail(props: {
  model: JobsModel;
  job: JobRecord;
}): React.JSX.Element {
  const { texts } = useLab();
  const { model, job } = props;
  const [detail, setDetail] = React.useState<DetailRecord | null>(null);
  const [trouble, setTrouble] = React.useState('');
  React.useEffect(() => {
    let isOver = false;
    model.detail(job.id).then(
      found => {
        if (!isOver) {
          setDetail(found);
        }
      },
      (reason: unknown) => {
        if (!isOver) {
          setTrouble(sentence(reason));
        }
      }
    );
    return () => {
      isOver = true;
    };
  }, [model, job.id, job.state, job.attempt]);
  if (trouble !== '') {
    return (
      <p className="jp-jupysched-trouble" role="alert">
        {trouble}
      </p>
    );
  }
  return (
    <div
      className="jp-jupysched-detail"
      tabIndex={0}
      role="region"
      aria-label={texts.__('Details of job %1', job.id)}
    >
      <Facts job={job} directory={detail?.job.directory ?? ''} />
      {detail !== null && <Files detail={detail} />}
    </div>
  );
}

function Facts(props: {
  job: JobRecord;
  directory: string;
}): React.JSX.Element {
  const { texts } = useLab();
  const { job } = props;
  const now = new Date();
  const time = (iso: string | null): string =>
    iso === null || iso === '' ? '' : clock(iso, now);
  const metrics = Object.entries(job.metrics).map(
    ([k, v]) => `${tidy(k, 40)} ${String(v)}`
  );
  const facts: readonly (readonly [string, string])[] = [
    [texts.__('Job'), String(job.id)],
    [texts.__('User'), tidy(job.user, 60)],
    [texts.__('Why'), job.why === '' ? '' : tidy(job.why, 1000)],
    [texts.__('Asked for'), requested(job, texts)],
    [texts.__('Priority'), job.priority],
    [
      texts.__('Time limit'),
      job.request.time_limit_s === null ? '' : limit(job.request.time_limit_s)
    ],
    [texts.__('After'), job.after.join(', ')],
    [texts.__('Retries'), job.retries > 0 ? String(job.retries) : ''],
    [
      texts.__('Ran on'),
      [...job.gpus, ...new Set(job.nodes)].map(n => tidy(n, 60)).join(', ')
    ],
    [texts.__('Submitted'), time(job.submitted_at)],
    [texts.__('Started'), time(job.started_at)],
    [texts.__('Ended'), time(job.ended_at)],
    [texts.__('Waited'), job.waited_s === null ? '' : duration(job.waited_s)],
    [texts.__('Ran'), job.ran_s === null ? '' : duration(job.ran_s)],
    [texts.__('Metrics'), metrics.join(', ')],
    [texts.__('Notebook'), tidyOrNothing(job.origin['path'])],
    [texts.__('Files'), tidyOrNothing(props.directory)]
  ];
  return (
    <dl className="jp-jupysched-facts">
      {facts
        .filter(([, said]) => said !== '')
        .map(([label, said]) => (
          <React.Fragment key={label}>
            <dt>{label}</dt>
            <dd>
              <bdi>{said}</bdi>
            </dd>
          </React.Fragment>
        ))}
    </dl>
  );
}

const tidyOrNothing = (text: string | undefined): string =>
  text ? tidy(text, 400) : '';

function Files(props: { detail: DetailRecord }): React.JSX.Element {
  const { texts } = useLab();
  const { detail } = props;
  const files = Object.entries(detail.files);
  return (
    <>
      {detail.attempts.length > 0 && <Attempts attempts={detail.attempts} />}
      {detail.cell !== '' && (
        <>
          <h3>{texts.__('Cell')}</h3>
          <pre className="jp-jupysched-code">{detail.cell}</pre>
        </>
      )}
      <details>
        <summary>
          {texts.__('Environment (%1)', Object.keys(detail.environment).length)}
        </summary>
        <dl className="jp-jupysched-facts">
          <dt>{texts.__('Interpreter')}</dt>
          <dd>{detail.interpreter}</dd>
          <dt>{texts.__('Folder')}</dt>
          <dd>{detail.cwd}</dd>
          {Object.entries(detail.environment).map(([name, value]) => (
            <React.Fragment key={name}>
              <dt>{tidy(name, 80)}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </React.Fragment>
          ))}
        </dl>
      </details>
      <details>
        <summary>{texts.__('Files (%1)', files.length)}</summary>
        <dl className="jp-jupysched-facts">
          {files.map(([name, bytes]) => (
            <React.Fragment key={name}>
              <dt>{name}</dt>
              <dd>{size(bytes)}</dd>
            </React.Fragment>
          ))}
        </dl>
      </details>
    </>
  );
}

function Attempts(props: {
  attempts: readonly AttemptRecord[];
}): React.JSX.Element {
  const { texts } = useLab();
  const now = new Date();
  const heads = [
    '#',
    texts.__('Started'),
    texts.__('Ended'),
    texts.__('Outcome'),
    texts.__('Output'),
    texts.__('Peak memory')
  ];
  return (
    <>
      <h3>{texts.__('Attempts')}</h3>
      <table className="jp-jupysched-table">
        <thead>
          <tr>
            {heads.map(head => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.attempts.map(attempt => (
            <tr key={attempt.number}>
              <td>{attempt.number}</td>
              <td>
                {attempt.started_at === null
                  ? ''
                  : clock(attempt.started_at, now)}
              </td>
              <td>
                {attempt.ended_at === null ? '' : clock(attempt.ended_at, now)}
              </td>
              <td>
                <bdi>
                  {[attempt.outcome, attempt.error && tidy(attempt.error, 200)]
                    .filter(Boolean)
                    .join(': ')}
                </bdi>
              </td>
              <td>{size(attempt.output_bytes)}</td>
              <td>
                {attempt.max_rss_bytes === null
                  ? texts.__('n/a')
                  : size(attempt.max_rss_bytes)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** The line under a cell in which a job's input() is answered, where its kernel can ask nobody any more. */

import { Notification } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';

import type { Op } from '../api/schema';
import { type JobsModel, sentence } from '../model/jobs';

export interface IQuestionOptions {
  model: JobsModel;
  job: number;
  attempt: number;
  op: Op;
}

export class Question extends Widget {
  constructor(private readonly _options: IQuestionOptions) {
    super({ node: document.createElement('form') });
    this.addClass('jp-jupysched-question');
    const { op, job } = _options;
    const label = document.createElement('label');
    label.textContent = op.text ?? '';
    this._input = document.createElement('input');
    this._input.className = 'jp-jupysched-input';
    this._input.type = op.name === 'password' ? 'password' : 'text';
    this._input.autocomplete = 'off';
    this._input.id = `jupysched-question-${job}`;
    this._input.setAttribute('aria-label', op.text || `input() of job ${job}`);
    label.htmlFor = this._input.id;
    this.node.append(label, this._input);
  }

  handleEvent(event: Event): void {
    if (event.type === 'submit') {
      event.preventDefault();
      void this._answer();
    } else {
      event.stopPropagation(); // else the notebook takes keys for its own
    }
  }

  protected override onAfterAttach(): void {
    this.node.addEventListener('submit', this);
    this.node.addEventListener('keydown', this);
  }

  protected override onBeforeDetach(): void {
    this.node.removeEventListener('submit', this);
    this.node.removeEventListener('keydown', this);
  }

  private async _answer(): Promise<void> {
    const { model, job, attempt, op } = this._options;
    this._input.disabled = true;
    try {
      await model.answer(job, {
        attempt,
        question: Number(op.display_id),
        value: this._input.value
      });
      this.dispose();
    } catch (reason) {
      this._input.disabled = false;
      Notification.error(sentence(reason), { autoClose: 8000 });
    }
  }

  private readonly _input: HTMLInputElement;
}

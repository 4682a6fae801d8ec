/** The list of plug-ins, nothing else. */

import { jobs } from './plugins/jobs';

export default [jobs];

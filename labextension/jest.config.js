// Pure parts run in node; a test that draws says `@jest-environment jsdom` in its first comment.

/** Packages that ship ES modules only and must be compiled for jest. */
const esm = [
  '@codemirror',
  '@jupyter',
  '@jupyterlab',
  '@jupyter-notebook',
  '@lumino',
  '@marijn',
  '@microsoft',
  '@rjsf',
  'exenv-es6',
  'lib0',
  'nanoid',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'y-websocket',
  'yjs'
].join('|');

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/src/**/__tests__/**/*.spec.{ts,tsx}'],
  transform: {
    '^.+\\.(m?js|tsx?)$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'classic' } },
          target: 'es2022'
        },
        module: { type: 'commonjs' }
      }
    ]
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esm})/)`],
  moduleNameMapper: {
    '\\.(css|svg)$': '<rootDir>/jest.asset.js'
  },
  restoreMocks: true
};

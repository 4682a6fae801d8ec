"""The one schema of all that leaves a process. TypeScript types are generated from it (`make schema`)."""

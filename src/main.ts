// Hands the command line to cli and turns a Failure into one sentence and an exit code.
export {};

// News for the broker: several changes of one moment are one publication.

export interface News {
  publish(): void;
  /** Everything is wired: from now on there is somebody to say it. */
  open(): void;
}

export function openNews(say: () => void): News {
  let isPlanned = true;
  return {
    publish() {
      if (isPlanned) return;
      isPlanned = true;
      setImmediate(() => {
        isPlanned = false;
        say();
      });
    },
    open() {
      isPlanned = false;
    },
  };
}

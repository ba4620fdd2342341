// Text within the markup of a statement.

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };

export const html = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&${ENTITIES[character] ?? '#39'};`);

export * from './apis/index.js';
export * from './models/index.js';
export * from './runtime.js';
export * from './FeedFollower.js';

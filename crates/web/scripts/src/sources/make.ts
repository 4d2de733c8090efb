// The source for a way of playing.

import { FlvSource } from "./flv";
import { HlsSource, NativeHlsSource } from "./hls";
import { HttpSource } from "./http";
import type { Source, Task } from "./source";
import { WebrtcSource } from "./webrtc";

/** A new source, which has not begun. */
export const sourceOf = (task: Task): Source => {
  switch (task.way.name) {
    case "webrtc": return new WebrtcSource(task);
    case "flv": return new FlvSource(task);
    case "hls": return new HlsSource(task);
    case "native": return new NativeHlsSource(task);
    case "http": return new HttpSource(task);
  }
};

// The camera, the screen and the microphone of the publish page.

/** What the form asks for. */
export interface Wanted {
  picture: "camera" | "screen" | "none";
  /** A device's id; `any` leaves it to the browser. */
  camera: string;
  /** A device's id, `any`, `screen` for the sound of the screen, or `none`. */
  microphone: string;
  /** Sound is sent as it is, without processing for speech. */
  isMusic: boolean;
}

/** Why the browser gives no picture or sound, and what to do about it. */
const REASONS: Readonly<Record<string, string>> = {
  NotAllowedError: "The browser did not permit it. Allow camera and microphone for this page, in the "
    + "address bar or in the system's settings, and try again.",
  NotFoundError: "There is no camera or no microphone of this kind. Plug one in, or choose another.",
  OverconstrainedError: "The chosen device is gone. Choose another.",
  NotReadableError: "The device is in use by another program, or the system does not release it.",
  AbortError: "The device failed to start. Try again.",
};

/** An error of `capture` in words. */
export const explain = (error: unknown): string => {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return REASONS[name] ?? message;
};

const chosen = (id: string): MediaTrackConstraints => (id && id !== "any" ? { deviceId: { exact: id } } : {});

/** Music is sent unprocessed; speech is cleaned up. */
const soundWanted = ({ microphone, isMusic }: Wanted): MediaTrackConstraints => ({
  ...chosen(microphone),
  channelCount: 2,
  echoCancellation: !isMusic,
  noiseSuppression: !isMusic,
  autoGainControl: !isMusic,
});

/** Opens what is wanted, or nothing. */
export const capture = async (wanted: Wanted): Promise<MediaStream> => {
  const tracks: MediaStreamTrack[] = [];
  try {
    if (wanted.picture === "screen") {
      const screen = await navigator.mediaDevices.getDisplayMedia({
        video: { frameRate: { ideal: 30 } },
        audio: wanted.microphone === "screen",
      });
      tracks.push(...screen.getTracks());
    }
    const isCamera = wanted.picture === "camera";
    const isMicrophone = !["none", "screen"].includes(wanted.microphone);
    if (isCamera || isMicrophone) {
      const devices = await navigator.mediaDevices.getUserMedia({
        video: isCamera && {
          ...chosen(wanted.camera), width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 },
        },
        audio: isMicrophone && soundWanted(wanted),
      });
      tracks.push(...devices.getTracks());
    }
  } catch (error) {
    tracks.forEach((track) => track.stop());
    throw error;
  }
  return new MediaStream(tracks);
};

/** Lists the devices. The browser names them only after permission to use one. */
export const listDevices = async (camera: HTMLSelectElement, microphone: HTMLSelectElement): Promise<void> => {
  const all = await navigator.mediaDevices.enumerateDevices();
  const fill = (select: HTMLSelectElement, kind: MediaDeviceKind, word: string): void => {
    const before = select.value;
    for (const old of [...select.querySelectorAll("option[data-device]")]) old.remove();
    all.filter((one) => one.kind === kind && one.deviceId && one.deviceId !== "default").forEach((one, at) => {
      const option = new Option(one.label || `${word} ${at + 1}`, one.deviceId);
      option.dataset["device"] = "";
      select.add(option);
    });
    if ([...select.options].some((option) => option.value === before)) select.value = before;
  };
  fill(camera, "videoinput", "Camera");
  fill(microphone, "audioinput", "Microphone");
};

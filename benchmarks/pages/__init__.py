"""The dashboard in a real Chromium: times to what is drawn, frames, bytes and memory."""

"""`bigbatch.log`: points under kills and on a full disk, and the duration of a call."""

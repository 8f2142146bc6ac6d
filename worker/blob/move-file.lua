-- Replaces the bytes of a file by the pointer to them. An erased file stays erased, and no retention gets shorter.
-- KEYS  1 bytes of the file   2 pointer
-- ARGV  1 number of bytes
-- Reply 1, or 0 when there are no bytes any more: then nothing changed
local left = redis.call('PTTL', KEYS[1])
if left == -2 then
  return 0
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('SET', KEYS[2], ARGV[1])
  if left > 0 then
    redis.call('PEXPIRE', KEYS[2], left)
  end
elseif left > redis.call('PTTL', KEYS[2]) then
  redis.call('PEXPIRE', KEYS[2], left)
end
redis.call('UNLINK', KEYS[1])
return 1

-- Replaces the bytes of a segment by the pointer to them.
-- KEYS  1 archive
-- ARGV  1 index   2 SHA-1 of the bytes, in hex   3 pointer
-- Reply 1, or 0 when other bytes or none are there: then nothing changed
local item = redis.call('LINDEX', KEYS[1], ARGV[1])
if not item or redis.sha1hex(item) ~= ARGV[2] then
  return 0
end
redis.call('LSET', KEYS[1], ARGV[1], ARGV[3])
return 1

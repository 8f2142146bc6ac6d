-- A field of an entry, or of anything else that is a flat list of names and values; nil when it has none of that name.
local function field(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then
      return fields[i + 1]
    end
  end
end

-- The traceparent of an entry of a stream, '' when it has none or is gone.
local function traceparent_of(stream, entry)
  local found = redis.call('XRANGE', stream, entry, entry)
  return found[1] and field(found[1][2], 'traceparent') or ''
end

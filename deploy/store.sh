#!/bin/sh
# Starts the object store with two keys for its S3 interface: one for writers, one that may only read what is public.
# Keys come from the environment, so that none is in a file of this folder.
set -eu

for name in AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY READER_ACCESS_KEY_ID READER_SECRET_ACCESS_KEY; do
    eval "value=\${$name:-}"
    case $value in
        "" | *[!A-Za-z0-9+/=_-]*)
            echo "set $name in .env, of letters, digits and +/=_-" >&2
            exit 1
            ;;
    esac
done

umask 077
config=${CONFIG:-/tmp/s3.json}
cat > "$config" <<END
{
  "identities": [
    {
      "name": "writer",
      "credentials": [{"accessKey": "$AWS_ACCESS_KEY_ID", "secretKey": "$AWS_SECRET_ACCESS_KEY"}],
      "actions": ["Read:losslake", "List:losslake", "Write:losslake", "Tagging:losslake"]
    },
    {
      "name": "reader",
      "credentials": [{"accessKey": "$READER_ACCESS_KEY_ID", "secretKey": "$READER_SECRET_ACCESS_KEY"}],
      "actions": [
        "Read:losslake/lake/lake.toml*",
        "Read:losslake/lake/releases/*",
        "Read:losslake/lake/warehouse/*",
        "Read:losslake/lake/serving/*"
      ]
    }
  ]
}
END
# Else the store would also accept the key in the environment, for everything.
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY READER_ACCESS_KEY_ID READER_SECRET_ACCESS_KEY
exec weed mini -dir=/data -ip=files -ip.bind=0.0.0.0 -s3.port=8333 -s3.config="$config" -webdav=false -admin.ui=false

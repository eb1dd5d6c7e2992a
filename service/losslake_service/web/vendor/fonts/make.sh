#!/bin/sh
# Make the fonts of the pages in static/fonts: the glyphs that they use, of fonts that npm has. `make vendor` runs this.
# Needs npm and python3. A symbol that a page shows newly belongs to SYMBOLS.
set -eu

VERSION=0.4.3
FONTTOOLS='fonttools[woff]==4.68.0'
LETTERS=U+20-7E,U+A0-FF,U+391-3C9
# Quotes and dashes, superscripts, arrows, signs of mathematics, lines of boxes, triangles.
SYMBOLS=U+2010-2026,U+2032,U+2033,U+2039,U+203A,U+2070-2079,U+2190-2195,U+2202,U+2211,U+2212,U+221A,U+221E,U+2248,U+2264,U+2265,U+2500-2518,U+25B2,U+25B6,U+25B8,U+25BC,U+25BE,U+25C0

target=$(cd "$(dirname "$0")/../../static/fonts" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv fonttools
fonttools/bin/python -m pip --disable-pip-version-check -qq install "$FONTTOOLS"

make_font() {  # name of the package, its file, name of the font here
  npm pack --silent "@expo-google-fonts/$1@$VERSION" >/dev/null
  mkdir -p "$1"
  tar -xzf "expo-google-fonts-$1-$VERSION.tgz" -C "$1" --strip-components=1
  fonttools/bin/pyftsubset "$1/$2" --unicodes="$LETTERS,$SYMBOLS" --layout-features=kern,tnum,lnum,mark,ccmp \
    --flavor=woff2 --no-hinting --output-file="$target/$3.woff2"
  cp "$1/LICENSE_FONT" "$target/LICENSE-$1.txt"
}

make_font arimo 400Regular/Arimo_400Regular.ttf text
make_font arimo 700Bold/Arimo_700Bold.ttf text-bold
make_font cousine 400Regular/Cousine_400Regular.ttf mono

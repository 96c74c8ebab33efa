#!/bin/sh
read n
echo $((n * n))

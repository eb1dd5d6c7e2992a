"""Spark engine for ingests: conversion on a cluster."""
